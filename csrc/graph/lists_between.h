// Collects the arcs among the nodes of a range in arrays, for a partitioner that works in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "graph/arcs.h"

namespace marius {

// Node `begin` + i's neighbours among the nodes [begin, end) come to targets[starts[i] .. starts[i + 1]), less `begin`, beside
// their weights. `starts`: end - begin + 1 numbers; `targets`, `weights`: room for `capacity`.
class ListsBetween {
public:
    ListsBetween(uint64_t begin, uint64_t end, uint64_t nodes, int64_t* starts, int64_t* targets, int64_t* weights,
                 uint64_t capacity)
        : begin_(begin), end_(end), capacity_(capacity), starts_(starts), targets_(targets), weights_(weights), reader_(nodes) {
        starts_[0] = 0;
    }

    void read(const uint8_t* bytes, size_t size) {
        reader_.read(bytes, bytes + size, [this](auto... given) { take(given...); });
    }

    // How many arcs there are.
    uint64_t finish() {
        reader_.finish([this](auto... given) { take(given...); });
        return found_;
    }

private:
    void take(uint64_t source, const Arc* arcs, size_t count, bool) {
        if (source < begin_ || source >= end_) return;
        for (size_t i = 0; i < count; ++i) {
            if (arcs[i].target < begin_ || arcs[i].target >= end_) continue;
            if (found_ == capacity_) throw std::invalid_argument("more arcs than there is room for");
            targets_[found_] = static_cast<int64_t>(arcs[i].target - begin_);
            weights_[found_++] = static_cast<int64_t>(arcs[i].weight);
        }
        starts_[source - begin_ + 1] = static_cast<int64_t>(found_);
    }

    uint64_t begin_, end_, capacity_, found_ = 0;
    int64_t *starts_, *targets_, *weights_;
    ArcReader reader_;
};

}  // namespace marius
