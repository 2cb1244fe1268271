// Square blocks of numbers, a vector for each row, become their columns.
#pragma once
#include "score/lanes.h"

namespace marius {
namespace {  // a copy for each file

#if defined(__AVX512F__)
using Words = __m512i;  // 16 words of 32 bits

inline void transpose(Words (&rows)[16]) {
    Words t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; ++k) {
            rows[i + 2 * k] = _mm512_unpacklo_epi64(t[i + k], t[i + k + 2]);
            rows[i + 2 * k + 1] = _mm512_unpackhi_epi64(t[i + k], t[i + k + 2]);
        }
    for (int i = 0; i < 16; i += 8)
        for (int k = 0; k < 4; ++k) {
            t[i + k] = _mm512_shuffle_i32x4(rows[i + k], rows[i + k + 4], 0x88);
            t[i + k + 4] = _mm512_shuffle_i32x4(rows[i + k], rows[i + k + 4], 0xdd);
        }
    for (int k = 0; k < 8; ++k) {
        rows[k] = _mm512_shuffle_i32x4(t[k], t[k + 8], 0x88);
        rows[k + 8] = _mm512_shuffle_i32x4(t[k], t[k + 8], 0xdd);
    }
}

#endif

inline void transpose(Lanes (&rows)[width]) {
#if defined(__AVX512F__)
    Words words[width];
    for (int i = 0; i < width; ++i) words[i] = (Words)rows[i];
    transpose(words);
    for (int i = 0; i < width; ++i) rows[i] = (Lanes)words[i];
#else
    float numbers[width][width];
    for (std::int64_t i = 0; i < width; ++i)
        for (std::int64_t k = 0; k < width; ++k) numbers[k][i] = rows[i][k];
    for (std::int64_t i = 0; i < width; ++i) rows[i] = load(numbers[i]);
#endif
}

}  // namespace
}  // namespace marius
