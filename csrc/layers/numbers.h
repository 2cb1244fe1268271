// Vectors of the numbers of rows, float32 or the bits of bfloat16, as wide as the including file is compiled for; see lanes.h.
#pragma once
#include "score/exponential.h"

namespace marius {
namespace {  // a copy for each file

typedef std::uint16_t Halves __attribute__((vector_size(sizeof(Lanes) / 2)));

// The first `count` lanes of a row's numbers; the others are 0.
inline Lanes numbers(const float* from, std::int64_t count) { return load_some(from, count); }

inline Lanes numbers(const std::uint16_t* from, std::int64_t count) {
    Halves halves{};
    if (count >= width) __builtin_memcpy(&halves, from, sizeof halves);
    else
        for (std::int64_t lane = 0; lane < count; ++lane) halves[lane] = from[lane];
    return (Lanes)(__builtin_convertvector(halves, Bits) << 16);
}

inline void put(float* to, Lanes x, std::int64_t count) { store_some(to, x, count); }

inline void put(std::uint16_t* to, Lanes x, std::int64_t count) {  // to the nearest, even where two are
    typedef std::uint32_t Words __attribute__((vector_size(sizeof(Lanes))));
    const Words bits = (Words)x, nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const Halves halves = __builtin_convertvector(x == x ? nearest : nearest * 0 + 0x7fffu, Halves);
    if (count >= width) __builtin_memcpy(to, &halves, sizeof halves);
    else
        for (std::int64_t lane = 0; lane < count; ++lane) to[lane] = halves[lane];
}

}  // namespace
}  // namespace marius
