// Converts numbers between float32 and the bits of bfloat16, which are the upper half of a float32's.
#pragma once
#include <bit>
#include <cstdint>

namespace marius {

inline constexpr std::uint32_t float_exponent = 0x7f800000u;  // all ones in infinities and NaNs

inline float widened(std::uint16_t half) { return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16); }

// Two rounds of Wellons' lowbias32. The upper bits of the result are the good ones.
inline std::uint32_t hashed(std::uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    return (x ^ x >> 15) * 0x846ca68bu;
}

// The key of a number's chance, by the row's key and the number's column.
inline std::uint32_t key_of_column(std::uint32_t key, std::int64_t column) {
    return key + 0x9e3779b9u * static_cast<std::uint32_t>(column);
}

// One of the two bfloat16 around x, the more often the nearer that one is, so that the mean over keys is x. Which one follows
// from x and `key`. The lower half of x is compared with 16 random bits by adding them: the carry is 1 as often as the half says.
// Beyond the largest bfloat16 there is infinity. Numbers that are not finite stay so.
inline std::uint16_t rounded_by_chance(float x, std::uint32_t key) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), chance = hashed(bits ^ key) >> 16;
    return static_cast<std::uint16_t>((bits + ((bits & float_exponent) == float_exponent ? 0u : chance)) >> 16);
}

inline std::uint16_t nearest_bfloat16(float x) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    const bool finite = (bits & float_exponent) != float_exponent;
    return static_cast<std::uint16_t>((bits + (finite ? 0x7fffu + (bits >> 16 & 1u) : 0u)) >> 16);
}

// A number that needs more digits than one bfloat16 has is the sum of two: the nearest one, and the rest, rounded by chance.
inline constexpr std::int64_t halves = 2;

inline float sum_of_halves(const std::uint16_t* in) { return widened(in[0]) + widened(in[1]); }

inline void split_into_halves(float x, std::uint16_t* out, std::uint32_t key) {
    out[0] = nearest_bfloat16(x);
    out[1] = rounded_by_chance(x - widened(out[0]), key);  // the rest is exact
}

}  // namespace marius
