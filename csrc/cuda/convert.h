// Converts between float types, rounding to the nearest even value. CPU and GPU give the same bits. Any NaN becomes 0x7fff.
#pragma once
#include <cstdint>
#include <cstring>

#include "base/both.h"

namespace marius {

struct Float16 {
    std::uint16_t bits;
};

struct BFloat16 {
    std::uint16_t bits;
};

MARIUS_BOTH std::uint32_t bits_of(float x) {
    std::uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

MARIUS_BOTH float float_of(std::uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

MARIUS_BOTH std::uint16_t to_bfloat16(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint16_t half;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(x));
    return half;
#else
    const std::uint32_t bits = bits_of(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
#endif
}

MARIUS_BOTH float from_bfloat16(std::uint16_t half) { return float_of(static_cast<std::uint32_t>(half) << 16); }

MARIUS_BOTH std::uint16_t to_float16(float x) {
#if defined(__CUDA_ARCH__)
    std::uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
    return half;
#else
    const std::uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return 0x7fff;
    if (size >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65536 and more
    if (size >= 0x38800000u)  // normal: shift the exponent, round; a carry past 65504 ends at infinity by itself
        return static_cast<std::uint16_t>(sign | ((size - 0x38000000u + 0x0fffu + (size >> 13 & 1)) >> 13));
    // Below 2^-14: adding 0.5 makes the sum's last bit 2^-24, the least float16, and rounds to it.
    return static_cast<std::uint16_t>(sign | (bits_of(float_of(size) + 0.5f) - 0x3f000000u));
#endif
}

MARIUS_BOTH float from_float16(std::uint16_t half) {
#if defined(__CUDA_ARCH__)
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half));
    return x;
#else
    const std::uint32_t sign = (half & 0x8000u) << 16, size = half & 0x7fffu;
    if (size >= 0x7c00u) return float_of(sign | 0x7f800000u | (size & 0x03ffu) << 13);
    if (size >= 0x0400u) return float_of(sign | ((size << 13) + 0x38000000u));
    return float_of(sign | bits_of(static_cast<float>(size) * 0x1p-24f));
#endif
}

MARIUS_BOTH float to_float(float x) { return x; }
MARIUS_BOTH float to_float(Float16 x) { return from_float16(x.bits); }
MARIUS_BOTH float to_float(BFloat16 x) { return from_bfloat16(x.bits); }

MARIUS_BOTH void put_float(float& out, float x) { out = x; }
MARIUS_BOTH void put_float(Float16& out, float x) { out.bits = to_float16(x); }
MARIUS_BOTH void put_float(BFloat16& out, float x) { out.bits = to_bfloat16(x); }

}  // namespace marius
