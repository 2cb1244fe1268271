// Collects integer ids below a bound in a bitmap, and returns those that exist in the order of their keyed hash.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "graph/hash.h"

namespace marius {

// Sets the bits of `ids` and copies them to `out`; false, and nothing is set, where one is not below `bound` <= 2^32.
inline bool mark_ids(const int64_t* ids, size_t count, uint64_t bound, uint64_t* bitmap, uint32_t* out) {
    uint64_t most = 0;
    for (size_t i = 0; i < count; ++i) most = std::max(most, static_cast<uint64_t>(ids[i]));
    if (count && most >= bound) return false;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t id = static_cast<uint64_t>(ids[i]), bit = 1ULL << (id & 63);
        if (!(bitmap[id >> 6] & bit)) bitmap[id >> 6] |= bit;
        out[i] = static_cast<uint32_t>(id);
    }
    return true;
}

// Writes the hashes in [first, last] of the ids whose bits are set, at most `room`, in any order. Returns how many there are.
inline size_t hashes_of_marked(const uint64_t* bitmap, size_t words, uint64_t key, uint64_t first, uint64_t last, uint64_t* out,
                               size_t room) {
    size_t found = 0;
    for (size_t word = 0; word < words; ++word)
        for (uint64_t bits = bitmap[word]; bits; bits &= bits - 1) {
            const uint64_t hash = hash_int(word * 64 + static_cast<uint64_t>(std::countr_zero(bits)), key);
            if (hash < first || hash > last) continue;
            if (found < room) out[found] = hash;
            ++found;
        }
    return found;
}

}  // namespace marius
