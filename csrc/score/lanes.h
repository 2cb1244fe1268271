// Vectors of float32, as wide as the including file is compiled for.
//
// Files compiled for vectors that not every processor has include this and distance_loops.h, and nothing of the
// standard library that has code of its own: the linker keeps one copy of an inline function and might take theirs.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace marius {
namespace {  // a copy for each file

#if defined(__AVX512F__)
using Lanes = __m512;
inline Lanes fused(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
inline Lanes inverse_root_estimate(Lanes x) { return _mm512_maskz_rsqrt14_ps(0xffff, x); }
#elif defined(__AVX2__) && defined(__FMA__)
using Lanes = __m256;
inline Lanes fused(Lanes a, Lanes b, Lanes c) { return _mm256_fmadd_ps(a, b, c); }
inline Lanes inverse_root_estimate(Lanes x) { return _mm256_rsqrt_ps(x); }
#elif defined(__x86_64__)
using Lanes = __m128;
inline Lanes fused(Lanes a, Lanes b, Lanes c) { return a * b + c; }
inline Lanes inverse_root_estimate(Lanes x) { return _mm_rsqrt_ps(x); }
#else
typedef float Lanes __attribute__((vector_size(16)));
inline Lanes fused(Lanes a, Lanes b, Lanes c) { return a * b + c; }
inline Lanes inverse_root_estimate(Lanes x) {
    for (int lane = 0; lane < 4; ++lane) x[lane] = 1.0f / __builtin_sqrtf(x[lane]);
    return x;
}
#endif

constexpr std::int64_t width = sizeof(Lanes) / sizeof(float);
typedef std::int32_t Bits __attribute__((vector_size(sizeof(Lanes))));
constexpr std::int32_t sign_bit = INT32_MIN;

inline Lanes load(const float* from) {
    Lanes x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
}

inline void store(float* to, Lanes x) { __builtin_memcpy(to, &x, sizeof x); }

inline Lanes all(float x) { return x - Lanes{}; }

inline Lanes magnitude(Lanes x) { return (Lanes)((Bits)x & ~sign_bit); }

// x where `sign` is positive, -x where it is negative, 0 where it is 0.
inline Lanes with_sign(Lanes x, Lanes sign) { return (Lanes)(((Bits)x ^ ((Bits)sign & sign_bit)) & (Bits)(sign != Lanes{})); }

inline float sum(Lanes x) {  // always in the same order
    typedef float Four __attribute__((vector_size(16)));
    Four parts[width / 4];
    __builtin_memcpy(parts, &x, sizeof x);
    for (std::int64_t half = width / 8; half > 0; half /= 2)
        for (std::int64_t i = 0; i < half; ++i) parts[i] += parts[i + half];
    return (parts[0][0] + parts[0][2]) + (parts[0][1] + parts[0][3]);
}

}  // namespace
}  // namespace marius
