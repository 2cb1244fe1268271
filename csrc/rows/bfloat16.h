// Numbers of 16 bits, bfloat16, to and from float32. They stand as their bits.
#pragma once
#include <bit>
#include <cstdint>

namespace marius {

using BrainBits = std::uint16_t;

__attribute__((always_inline)) inline float widened(float x) { return x; }

__attribute__((always_inline)) inline float widened(BrainBits bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// The nearest, even where two are. What is not a number stays so.
__attribute__((always_inline)) inline BrainBits rounded_to_brain(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return static_cast<BrainBits>(x == x ? nearest : 0x7fffu);
}

}  // namespace marius
