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

// A stable radix sort. `inverse`, (count,) where given, gets the segment of each position: inverse[order[i]] = s for starts[s] <= i <
// starts[s + 1]. Throws std::invalid_argument for a negative row, or more than 2^31 - 1 rows.
SortedRows sort_rows(const std::int64_t* rows, std::int64_t count, std::int32_t* inverse = nullptr);

// Finds the segment of each position, as `sort_rows` does, of what it gave for `count` rows. Throws std::invalid_argument for a
// position that is not below `count`.
std::vector<std::int32_t> inverse_of(const std::int32_t* order, std::int64_t count, const std::int32_t* starts,
                                     std::int64_t segments);

// Rows by group, and where sums of them begin.
struct GroupedRows {
    std::vector<std::int32_t> order;   // the rows of group 0, then those of group 1, ..., ascending each
    std::vector<std::int32_t> pieces;  // piece p has the rows order[pieces[p]:pieces[p + 1]]; empty where no group is longer
    std::vector<std::int32_t> groups;  // group g has the pieces groups[g]:groups[g + 1], or these rows where there are no pieces
};

// Divides groups into pieces of at most `piece` rows. How many pieces there are follows from `count` and `group_count` alone: as
// many as they may need at most; the last ones are empty. Throws std::invalid_argument for a group that is not below `group_count`.
GroupedRows group_rows(const std::int64_t* group_of, std::int64_t count, std::int64_t group_count, std::int64_t piece);

struct CommonRows {
    std::vector<std::int32_t> left, right;  // left_rows[left[k]] == right_rows[right[k]], ascending
};

// Finds the numbers that stand in both of two ascending lists without repetition, by their positions.
CommonRows common_rows(const std::int64_t* left_rows, std::int64_t left_count, const std::int64_t* right_rows,
                       std::int64_t right_count);

// Where the rows of distinct nodes are, and which nodes have none in `places`, ascending.
struct PlacedRows {
    std::vector<std::int64_t> rows, others;
};

// Node v has the row places[v], which is negative where it has none; the k-th of these nodes, ascending, gets the row first + k.
// Throws std::invalid_argument for a node outside [0, count).
PlacedRows place_rows(const std::int32_t* places, std::int64_t count, const std::int64_t* nodes, std::int64_t asked,
                      std::int64_t first);

}  // namespace marius
