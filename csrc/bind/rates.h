// The rates of a row optimizer, its options by name.
#pragma once
#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

#include "rows/formulas.h"

// Options that are not given are as usual. Throws std::invalid_argument for an optimizer or an option that there is none of.
inline marius::formulas::Rates rates_of(const std::string& name, float lr, const nanobind::kwargs& given) {
    marius::formulas::Rates rates = marius::formulas::usual_rates(name, lr);
    marius::formulas::with_optimizer(name, [&](auto optimizer) {
        std::size_t known = 0;
        for (std::size_t at = 0; at < optimizer.options.size(); ++at)
            if (const char* option = optimizer.options[at].name; given.contains(option)) {
                rates.options[at] = nanobind::cast<float>(given[option]);
                ++known;
            }
        if (known != given.size()) throw std::invalid_argument("row step: an option that " + name + " does not have");
    });
    return rates;
}
