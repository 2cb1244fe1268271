// In-edge lists of one partition's nodes, filled bucket by bucket.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace marius {

template <class Id>
struct InListsBeingFilled {
    int64_t* cursors;   // (nodes): where each list goes on
    size_t nodes;
    Id* sources;        // (edges)
    uint32_t* rels;     // (edges), or null
    float* weights;     // (edges), or null
    size_t edges;
};

// Edge e goes to the end of its destination's list. Lists come out by source when the buckets come in order of their source
// partition, whose first node is `first_source`. std::invalid_argument for an edge that has no place.
template <class Id>
void append_in_edges(const uint32_t* src, const uint32_t* dst, const uint32_t* rel, const float* weight, size_t count,
                     uint64_t first_source, const InListsBeingFilled<Id>& lists) {
    for (size_t e = 0; e < count; ++e) {
        if (dst[e] >= lists.nodes || static_cast<size_t>(lists.cursors[dst[e]]) >= lists.edges)
            throw std::invalid_argument("in-edge lists: an edge has no place");
        const int64_t at = lists.cursors[dst[e]]++;
        lists.sources[at] = static_cast<Id>(first_source + src[e]);
        if (lists.rels) lists.rels[at] = rel[e];
        if (lists.weights) lists.weights[at] = weight[e];
    }
}

}  // namespace marius
