#include "rows/pick.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace marius {

std::vector<std::int64_t> picked(const std::uint32_t* column, std::int64_t count, const std::uint32_t* places,
                                 std::int64_t asked) {
    // Looked at first, so that no branch stands between the reads, which wait for memory.
    std::uint32_t highest = 0;
    for (std::int64_t i = 0; i < asked; ++i) highest = std::max(highest, places[i]);
    if (asked > 0 && highest >= count)
        throw std::invalid_argument("picked: place " + std::to_string(highest) + " of a column of " + std::to_string(count));
    std::vector<std::int64_t> out(asked);
    for (std::int64_t i = 0; i < asked; ++i) out[i] = column[places[i]];
    return out;
}

}  // namespace marius
