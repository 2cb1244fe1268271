// Groups the positions of equal rows; finds the rows that two groups share.
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

struct CommonRows {
    std::vector<std::int32_t> left, right;  // left_rows[left[k]] == right_rows[right[k]], ascending
};

// Finds the numbers that stand in both of two ascending lists without repetition, by their positions.
CommonRows common_rows(const std::int64_t* left_rows, std::int64_t left_count, const std::int64_t* right_rows,
                       std::int64_t right_count);

}  // namespace marius
