// Keyed 64-bit hashes of raw ids and edges. Results are part of the dataset format: the same on every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/both.h"

namespace marius {

// Murmur3's 64-bit finaliser, a bijection (Appleby, public domain).
MARIUS_BOTH uint64_t mix64(uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

inline uint64_t unmix64(uint64_t x) {
    x = (x ^ (x >> 33)) * 0x9cb4b2f8129337dbULL;  // the inverse factors modulo 2^64
    x = (x ^ (x >> 33)) * 0x4f74430c22a54005ULL;
    return x ^ (x >> 33);
}

// A bijection of the id for each key, so integer ids never collide.
MARIUS_BOTH uint64_t hash_int(uint64_t id, uint64_t key) { return mix64(mix64(id + key) ^ key); }

inline uint64_t unhash_int(uint64_t hash, uint64_t key) { return unmix64(unmix64(hash) ^ key) - key; }

// Folded 64 x 64 -> 128-bit products over 8-byte words (the scheme of wyhash, Wang Yi, public domain).
inline uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t hash_bytes(const char* data, size_t length, uint64_t key) {
    constexpr uint64_t k0 = 0xa0761d6478bd642fULL, k1 = 0xe7037ed1a0b428dbULL;
    uint64_t state = mix64(key ^ k0);
    size_t left = length;
    for (; left > 8; left -= 8, data += 8) {
        uint64_t word;
        std::memcpy(&word, data, 8);
        state = fold(state ^ word, k0 ^ key) + k1;
    }
    uint64_t tail = 0;
    std::memcpy(&tail, data, left);
    return mix64(fold(state ^ tail, k1 ^ key) ^ length);
}

inline uint64_t hash_edge(uint64_t src, uint64_t rel, uint64_t dst, uint64_t key) {
    return hash_int(hash_int(hash_int(src, key) ^ rel, key) ^ dst, key);
}

}  // namespace marius
