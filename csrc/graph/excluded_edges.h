// The edges that a batch may not sample, by destination.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/hash.h"
#include "graph/residency.h"

namespace marius {

class ExcludedEdges {
public:
    ExcludedEdges() = default;

    // `pairs` holds (source, destination) `count` times; with `both` the edges back are excluded too.
    ExcludedEdges(const int64_t* pairs, size_t count, bool both) {
        for (size_t i = 0; i < count; ++i) {
            const uint64_t src = pairs[2 * i], dst = pairs[2 * i + 1];
            edges_.push_back({dst, src});
            if (both) edges_.push_back({src, dst});
        }
        std::sort(edges_.begin(), edges_.end());
        size_t bits = 64;
        while (bits < 16 * edges_.size()) bits *= 2;
        filter_.resize(bits / 64);
        for (const Edge& edge : edges_) filter_[place(edge.first) / 64] |= 1ULL << (place(edge.first) & 63);
    }

    bool may_have(uint64_t dst) const { return !edges_.empty() && filter_[place(dst) / 64] >> (place(dst) & 63) & 1; }

    // Takes the sources excluded for `dst` out of the stretches of its list.
    template <class Id>
    void remove(uint64_t dst, const Id* list, Stretches& stretches) const {
        auto edge = std::lower_bound(edges_.begin(), edges_.end(), Edge{dst, 0});
        if (edge == edges_.end() || edge->first != dst) return;
        Stretches whole;
        whole.swap(stretches);
        const auto keep = [&](int64_t begin, int64_t end) {
            if (begin < end) stretches.insert(stretches.end(), {begin, end});
        };
        for (size_t i = 0; i < whole.size(); i += 2) {
            int64_t at = whole[i];
            const int64_t end = whole[i + 1];
            while (at < end && edge != edges_.end() && edge->first == dst) {
                const int64_t found = first_not_below(list, at, end, edge->second);
                keep(at, found);
                at = first_not_below(list, found, end, edge->second + 1);
                if (at < end) ++edge;  // else the next stretch may have it
            }
            keep(at, end);
        }
    }

private:
    using Edge = std::pair<uint64_t, uint64_t>;  // destination, source
    size_t place(uint64_t node) const { return mix64(node) & (filter_.size() * 64 - 1); }

    std::vector<Edge> edges_;
    std::vector<uint64_t> filter_;  // a bit set for every destination there is
};

}  // namespace marius
