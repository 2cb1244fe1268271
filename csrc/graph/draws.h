// Which neighbours a node draws: a pure function of (seed, hop, node), whoever draws, in whatever order.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/hash.h"

namespace marius {

// Numbers 0, 1, 2, ... of one node's stream. (Source: the counter scheme of SplitMix64, Steele, Lea and Flood, Fast
// splittable pseudorandom number generators, OOPSLA 2014.)
class DrawStream {
public:
    DrawStream(uint64_t seed, uint64_t hop, uint64_t node) : state_(hash_int(node, mix64(seed + (hop + 1) * kStep))) {}

    // Unbiased, below `bound` >= 1. (Source: Lemire, Fast random integer generation in an interval, 2019.)
    uint64_t below(uint64_t bound) {
        unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
        if (static_cast<uint64_t>(product) < bound) [[unlikely]] {
            const uint64_t least = -bound % bound;
            while (static_cast<uint64_t>(product) < least) product = static_cast<unsigned __int128>(next()) * bound;
        }
        return static_cast<uint64_t>(product >> 64);
    }

    // Number `place`, whatever was drawn before it.
    uint64_t at(uint64_t place) const { return mix64(state_ + (place + 1) * kStep); }

private:
    static constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
    uint64_t next() { return mix64(state_ += kStep); }

    uint64_t state_;
};

// The numbers a large draw has seen; reused from draw to draw.
class DrawnSet {
public:
    void reset(size_t count) {
        size_t size = 64;
        while (size < 2 * count) size *= 2;
        slots_.assign(size, kEmpty);
    }
    bool insert(uint64_t value) {  // false where it is there already
        for (size_t at = mix64(value);; ++at) {
            uint64_t& slot = slots_[at & (slots_.size() - 1)];
            if (slot == value) return false;
            if (slot == kEmpty) return slot = value, true;
        }
    }

private:
    static constexpr uint64_t kEmpty = ~0ULL;
    std::vector<uint64_t> slots_;
};

// `count` distinct numbers below `bound` >= count, every set of them equally likely, in no particular order.
// (Source: Floyd's sampling, Bentley and Floyd, A sample of brilliance, CACM 1987.)
inline void draw_distinct(DrawStream stream, uint64_t bound, size_t count, uint64_t* out, DrawnSet& set) {
    constexpr size_t kScanned = 32;  // up to so many, looking through those drawn is faster than a table
    if (count > kScanned) {
        set.reset(count);
        for (size_t i = 0; i < count; ++i) {
            const uint64_t last = bound - count + i, drawn = stream.below(last + 1);
            out[i] = set.insert(drawn) ? drawn : last;
            if (out[i] == last) set.insert(last);
        }
        return;
    }
    uint64_t seen = 0;  // bit x: some number drawn is x modulo 64
    for (size_t i = 0; i < count; ++i) {
        const uint64_t last = bound - count + i, drawn = stream.below(last + 1);
        const bool maybe = seen >> (drawn & 63) & 1;
        out[i] = maybe && (bound <= 64 || std::find(out, out + i, drawn) != out + i) ? last : drawn;
        seen |= 1ULL << (out[i] & 63);
    }
}

}  // namespace marius
