// Tells which rows a cache holds, and divides the rows of a batch by it.
#pragma once
#include <cstdint>
#include <vector>

namespace marius {

// The rows at a batch's places. Place i has the row rows[inverse[i]], or rows[i] where `inverse` is empty.
struct DividedRows {
    std::vector<std::int64_t> rows;     // first those that are not held, then those that are; each in the order of the places
    std::vector<std::int64_t> held;     // of the latter, which of the held rows each is
    std::vector<std::int32_t> inverse;  // empty where it would be 0, 1, 2, ...
};

// A set of rows, by a bit for each row up to the largest, and a count for each 64 of them. So it takes 0.19 bytes a row, and
// says at once which of the held rows a row is.
class HeldRows {
public:
    // `rows` ascend. Throws std::invalid_argument where they do not, or where the first is negative.
    HeldRows(const std::int64_t* rows, std::int64_t count);

    // Divides the rows at `count` places. A row may stand at several places; the first place's row is taken once, however often
    // it stands there. Throws std::invalid_argument for a negative row, or more than 2^31 - 1 places.
    DividedRows divide(const std::int64_t* places, std::int64_t count) const;

private:
    bool holds(std::int64_t row) const;
    // Which of the held rows one of them is.
    std::int64_t place(std::int64_t row) const;

    std::vector<std::uint64_t> bits_;
    std::vector<std::int32_t> before_;  // held rows before each 64
};

}  // namespace marius
