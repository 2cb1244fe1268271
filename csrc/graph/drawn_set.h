// Draws any number of distinct numbers on the CPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/draws.h"

namespace marius {

// The set of numbers that a large draw has drawn so far. Its memory is kept from draw to draw.
class DrawnSet {
public:
    void reset(size_t count) {
        size_t size = 64;
        while (size < 2 * count) size *= 2;
        slots_.assign(size, kEmpty);
    }
    bool insert(uint64_t value) {  // false where it is in the set already
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

inline void draw_distinct(DrawStream stream, uint64_t bound, size_t count, uint64_t* out, DrawnSet& set) {
    if (count <= kScanned) return draw_few(stream, bound, count, out);
    set.reset(count);
    draw_many(stream, bound, count, out, set);
}

}  // namespace marius
