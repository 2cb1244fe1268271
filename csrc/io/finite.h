// Checks whether numbers in memory are finite.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace marius {

/// Whether all float32 numbers in `length` bytes, a multiple of 4, are finite. There is no branch, so that compilers vectorise
/// it.
inline bool all_finite(const std::byte* data, std::size_t length) {
    constexpr std::uint32_t kExponent = 0x7f800000;  // all ones in infinities and NaNs
    std::uint32_t wrong = 0;
    for (std::size_t i = 0; i < length; i += sizeof(std::uint32_t)) {
        std::uint32_t bits;
        std::memcpy(&bits, data + i, sizeof bits);
        wrong |= static_cast<std::uint32_t>((bits & kExponent) == kExponent);
    }
    return wrong == 0;
}

}  // namespace marius
