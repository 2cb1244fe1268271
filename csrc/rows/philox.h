// numpy's generator Philox, and its integers below a bound: the same numbers from the same seed, without its calls' time.
#pragma once
#include <cstdint>

namespace marius {

// Draws `count` numbers below `bound`, as `numpy.random.Generator(Philox).integers(bound, size=count)` does first of all. Throws
// std::invalid_argument for a bound that is not from 1 to 2^32 - 1: numpy goes another way above it. (Source of the way: Lemire, Fast
// random integer generation in an interval, 2019.)
void draw_below(std::uint64_t seed, std::int64_t bound, std::int64_t* out, std::int64_t count);

}  // namespace marius
