// Vectors of bfloat16, two in each 32-bit word, from vectors of float32. For processors with AVX512-BF16 alone.
#pragma once
#include "score/transpose.h"

namespace marius {
namespace {  // a copy for each file

// The numbers of `low`, then those of `high`.
inline Words rounded(__m512 low, __m512 high) { return (Words)_mm512_cvtne2ps_pbh(high, low); }

// 16 words, each a number of `first` and the one of `second` in the same place.
inline Words pairs_of(__m512 first, __m512 second) {
    alignas(64) static constexpr std::uint16_t order[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                            8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutexvar_epi16(_mm512_load_si512(order), rounded(first, second));
}

}  // namespace
}  // namespace marius
