// numpy's generator Philox, its integers below a bound and its shuffle: the same numbers from the same seed, without its calls' time
// and without Python's lock.
#pragma once
#include <cstdint>

namespace marius {

// Draws `count` numbers below `bound`, as `numpy.random.Generator(Philox).integers(bound, size=count)` does first of all. Throws
// std::invalid_argument for a bound that is not from 1 to 2^32 - 1: numpy goes another way above it. (Source of the way: Lemire, Fast
// random integer generation in an interval, 2019.)
void draw_below(std::uint64_t seed, std::int64_t bound, std::int64_t* out, std::int64_t count);

// Writes 0 to count - 1 in the order that `numpy.random.Generator(Philox).shuffle` gives them first of all. `count` is below 2^32.
// (Source of the way: Durstenfeld, Algorithm 235: Random permutation, CACM 1964.)
void shuffled(std::uint64_t seed, std::uint32_t* out, std::int64_t count);

}  // namespace marius
