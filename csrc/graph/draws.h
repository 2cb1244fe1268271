// Which neighbours a node draws: a pure function of (seed, hop, node), whoever draws, in whatever order.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/both.h"
#include "graph/hash.h"

namespace marius {

// Numbers 0, 1, 2, ... of one node's stream. (Source: the counter scheme of SplitMix64, Steele, Lea and Flood, Fast
// splittable pseudorandom number generators, OOPSLA 2014.)
class DrawStream {
public:
    MARIUS_BOTH DrawStream(uint64_t seed, uint64_t hop, uint64_t node)
        : state_(hash_int(node, mix64(seed + (hop + 1) * kStep))) {}

    // Unbiased, below `bound` >= 1. (Source: Lemire, Fast random integer generation in an interval, 2019.)
    MARIUS_BOTH uint64_t below(uint64_t bound) {
        unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
        if (static_cast<uint64_t>(product) < bound) [[unlikely]] {
            const uint64_t least = -bound % bound;
            while (static_cast<uint64_t>(product) < least) product = static_cast<unsigned __int128>(next()) * bound;
        }
        return static_cast<uint64_t>(product >> 64);
    }

    // Number `place`, whatever was drawn before it.
    MARIUS_BOTH uint64_t at(uint64_t place) const { return mix64(state_ + (place + 1) * kStep); }

private:
    static constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
    MARIUS_BOTH uint64_t next() { return mix64(state_ += kStep); }

    uint64_t state_;
};

// `count` distinct numbers below `bound` >= count, every set of them equally likely, in no particular order: up to kScanned of
// them are looked for among those drawn, more in a set, empty at first; the numbers are the same.
// (Source: Floyd's sampling, Bentley and Floyd, A sample of brilliance, CACM 1987.)
constexpr size_t kScanned = 32;

MARIUS_BOTH bool is_among(const uint64_t* values, size_t count, uint64_t value) {
    for (size_t i = 0; i < count; ++i)
        if (values[i] == value) return true;
    return false;
}

MARIUS_BOTH void draw_few(DrawStream stream, uint64_t bound, size_t count, uint64_t* out) {
    uint64_t seen = 0;  // bit x: some number drawn is x modulo 64
    for (size_t i = 0; i < count; ++i) {
        const uint64_t last = bound - count + i, drawn = stream.below(last + 1);
        const bool maybe = seen >> (drawn & 63) & 1;
        out[i] = maybe && (bound <= 64 || is_among(out, i, drawn)) ? last : drawn;
        seen |= 1ULL << (out[i] & 63);
    }
}

template <class Set>
MARIUS_BOTH void draw_many(DrawStream stream, uint64_t bound, size_t count, uint64_t* out, Set& set) {
    for (size_t i = 0; i < count; ++i) {
        const uint64_t last = bound - count + i, drawn = stream.below(last + 1);
        out[i] = set.insert(drawn) ? drawn : last;
        if (out[i] == last) set.insert(last);
    }
}

}  // namespace marius
