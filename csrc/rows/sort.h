// Groups the positions of equal rows.
#pragma once
#include <cstdint>
#include <vector>

namespace marius {

// Row unique[s] stands at positions order[starts[s]] < order[starts[s] + 1] < ... < order[starts[s + 1] - 1].
struct SortedRows {
    std::vector<std::int64_t> unique;  // ascending
    std::vector<std::int32_t> order, starts;
};

// A stable radix sort. Throws std::invalid_argument for a negative row, or more than 2^31 - 1 rows.
SortedRows sort_rows(const std::int64_t* rows, std::int64_t count);

}  // namespace marius
