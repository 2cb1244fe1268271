// Checks whether numbers in memory are finite.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace marius {

/// Whether all numbers in `length` bytes, a multiple of theirs, are finite. Word: std::uint32_t for float32, std::uint16_t for
/// bfloat16. There is no branch, so that compilers vectorise it.
template <class Word> bool all_finite(const std::byte* data, std::size_t length) {
    constexpr Word kExponent = static_cast<Word>(0x7f80u << (8 * sizeof(Word) - 16));  // all ones in infinities and NaNs
    Word wrong = 0;
    for (std::size_t i = 0; i < length; i += sizeof(Word)) {
        Word bits;
        std::memcpy(&bits, data + i, sizeof bits);
        wrong |= static_cast<Word>((bits & kExponent) == kExponent);
    }
    return wrong == 0;
}

/// The same for numbers of so many bytes: 4 of float32, 2 of bfloat16; 0: whatever they are. No others are meant.
inline bool all_finite(const std::byte* data, std::size_t length, int bytes) {
    return bytes == 0 || (bytes == 4 ? all_finite<std::uint32_t>(data, length) : all_finite<std::uint16_t>(data, length));
}

}  // namespace marius
