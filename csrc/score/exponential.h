// exp for vectors of float32, and parts of vectors in memory.
#pragma once
#include "score/lanes.h"

namespace marius {
namespace {  // a copy for each file

// exp(x) for x <= 0 within 2 units in the last place (Cephes' polynomial); 0 below the smallest normal number, NaN where x is NaN.
inline Lanes exp_of(Lanes x) {
    const Lanes lowest = all(-87.0f), round = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
#if defined(__AVX512F__)
    const __mmask16 large = _mm512_cmp_ps_mask(x, lowest, _CMP_NLT_UQ);
    const Lanes shifted = fused(x, all(1.44269504088896341f), round), n = shifted - round;
    const Lanes r = fused(n, all(2.12194440e-4f), fused(n, all(-0.693359375f), x));
#else
    const Bits tiny = x < lowest;
    const Lanes bounded = (Lanes)(((Bits)lowest & tiny) | ((Bits)x & ~tiny));
    const Lanes shifted = fused(bounded, all(1.44269504088896341f), round), n = shifted - round;
    const Lanes r = fused(n, all(2.12194440e-4f), fused(n, all(-0.693359375f), bounded));
#endif
    Lanes y = fused(all(1.9875691500e-4f), r, all(1.3981999507e-3f));
    y = fused(y, r, all(8.3334519073e-3f));
    y = fused(y, r, all(4.1665795894e-2f));
    y = fused(y, r, all(1.6666665459e-1f));
    y = fused(y, r, all(5.0000001201e-1f));
    y = fused(y * r, r, r) + all(1.0f);
#if defined(__AVX512F__)
    return _mm512_maskz_scalef_ps(large, y, n);
#else
    const Bits power = ((Bits)shifted - (Bits)round + 127) << 23;
    return (Lanes)((Bits)(y * (Lanes)power) & ~tiny);
#endif
}

inline Lanes larger(Lanes a, Lanes b) {  // b where one is NaN
    const Bits first = a > b;
    return (Lanes)(((Bits)a & first) | ((Bits)b & ~first));
}

// The first `count` lanes, 1 to width, of memory; the others are 0, and memory beyond is not touched.
inline Lanes load_some(const float* from, std::int64_t count) {
    if (count >= width) return load(from);
#if defined(__AVX512F__)
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
#else
    float numbers[width] = {};
    for (std::int64_t lane = 0; lane < count; ++lane) numbers[lane] = from[lane];
    return load(numbers);
#endif
}

inline void store_some(float* to, Lanes x, std::int64_t count) {
    if (count >= width) return store(to, x);
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), x);
#else
    float numbers[width];
    store(numbers, x);
    for (std::int64_t lane = 0; lane < count; ++lane) to[lane] = numbers[lane];
#endif
}

}  // namespace
}  // namespace marius
