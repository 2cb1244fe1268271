// Draws a node's neighbours: a function of (seed, hop, node) alone, the same for every sampler and every order of nodes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/both.h"
#include "graph/hash.h"

namespace marius {

// One node's stream of random numbers. (Source: the counter scheme of SplitMix64, Steele, Lea and Flood, Fast
// splittable pseudorandom number generators, OOPSLA 2014.)
class DrawStream {
public:
    MARIUS_BOTH DrawStream(uint64_t seed, uint64_t hop, uint64_t node)
        : state_(hash_int(node, mix64(seed + (hop + 1) * kStep))) {}

    // The next number below `bound` >= 1, unbiased. (Source: Lemire, Fast random integer generation in an interval, 2019.)
    MARIUS_BOTH uint64_t below(uint64_t bound) {
        unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
        if (static_cast<uint64_t>(product) < bound) [[unlikely]] {
            const uint64_t least = -bound % bound;
            while (static_cast<uint64_t>(product) < least) product = static_cast<unsigned __int128>(next()) * bound;
        }
        return static_cast<uint64_t>(product >> 64);
    }

    // The stream's number `place`, whatever was drawn before.
    MARIUS_BOTH uint64_t at(uint64_t place) const { return mix64(state_ + (place + 1) * kStep); }

private:
    static constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
    MARIUS_BOTH uint64_t next() { return mix64(state_ += kStep); }

    uint64_t state_;
};

// Draws `count` distinct numbers below `bound` >= count, each set equally likely, in no particular order. Up to kScanned numbers
// are compared with all before them; more are kept in a set, which is empty at first. Both ways draw the same numbers.
// (Source: Floyd's sampling, Bentley and Floyd, A sample of brilliance, CACM 1987.)
constexpr size_t kScanned = 32;

MARIUS_BOTH bool is_among(const uint64_t* values, size_t count, uint64_t value) {
    for (size_t i = 0; i < count; ++i)
        if (values[i] == value) return true;
    return false;
}

MARIUS_BOTH void draw_few(DrawStream stream, uint64_t bound, size_t count, uint64_t* out) {
    uint64_t residues = 0;  // bit x: a number drawn is x modulo 64
    for (size_t i = 0; i < count; ++i) {
        const uint64_t last = bound - count + i, drawn = stream.below(last + 1);
        const bool maybe = residues >> (drawn & 63) & 1;
        out[i] = maybe && (bound <= 64 || is_among(out, i, drawn)) ? last : drawn;
        residues |= 1ULL << (out[i] & 63);
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
