// Converts numbers between float32 and the bits of bfloat16, which are the upper half of a float32's.
#pragma once
#include <cstdint>

namespace marius {

void widen_bfloat16(const std::uint16_t* in, float* out, std::int64_t count);

// Rounds each number to one of the two bfloat16 around it, the more often the nearer that one is, so that the mean over keys is
// the number itself. Which one follows from the number, its place and `key`. Numbers that are not finite stay so.
void round_by_chance(const float* in, std::uint16_t* out, std::int64_t count, std::uint32_t key);

// A number that needs more digits than one bfloat16 has, as the sum of two: the nearest one, and the rest, rounded by chance.
inline constexpr std::int64_t halves = 2;
float sum_of_halves(const std::uint16_t* in);
void split_into_halves(float x, std::uint16_t* out, std::uint32_t key);

}  // namespace marius
