// Picks numbers of a column.
#pragma once
#include <cstdint>
#include <vector>

namespace marius {

// column[places[i]] for each i, widened. Throws std::invalid_argument for a place that is not below `count`.
std::vector<std::int64_t> picked(const std::uint32_t* column, std::int64_t count, const std::uint32_t* places,
                                 std::int64_t asked);

}  // namespace marius
