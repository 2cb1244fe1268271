// The error of a failed driver call, in one line.
#pragma once
#include <stdexcept>
#include <string>

#include "cuda/driver.h"

namespace marius {

struct DriverError : std::runtime_error {
    int code;
    DriverError(int error, const std::string& text) : std::runtime_error(text), code(error) {}
};

// Throws DriverError "WHAT: the driver's text (code)" unless `code` is 0, and clears the error that the driver keeps.
inline void check(Driver& driver, int code, const std::string& what) {
    if (code == 0) return;
    const std::string text = what + ": " + driver.text(code) + " (" + std::to_string(code) + ")";
    driver.clear_error();
    throw DriverError(code, text);
}

}  // namespace marius
