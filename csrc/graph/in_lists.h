// Fills the in-edge lists of some nodes from one buffer of edges after another; counts nodes' edges in the same way.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace marius {

// How edges lie in buckets, one bucket after another: those of bucket `buckets[s]`, i * partitions + j, end at `ends[s]`.
struct BucketRuns {
    const int64_t* buckets;
    const int64_t* ends;
    size_t count;
    uint64_t partitions, rows;  // `rows`: nodes of a partition

    // Calls visit(i, j, first edge, end). std::invalid_argument where they are not those of `edges` edges.
    template <class Visit>
    void each(size_t edges, Visit&& visit) const {
        int64_t begin = 0;
        for (size_t s = 0; s < count; ++s) {
            const uint64_t bucket = static_cast<uint64_t>(buckets[s]);
            if (ends[s] < begin || static_cast<size_t>(ends[s]) > edges || bucket / partitions >= partitions)
                throw std::invalid_argument("buckets: no buckets of these edges");
            visit(bucket / partitions, bucket % partitions, static_cast<size_t>(begin), static_cast<size_t>(ends[s]));
            begin = ends[s];
        }
        if (static_cast<size_t>(begin) != edges) throw std::invalid_argument("buckets: they end before the edges do");
    }
};

// The lists of the nodes from `first` on, partly filled.
template <class Id>
struct InListsBeingFilled {
    int64_t* cursors;  // (nodes): where each list goes on
    size_t nodes;
    uint64_t first;
    Id* sources;     // (edges)
    uint32_t* rels;  // (edges), or null
    float* weights;  // (edges), or null
    size_t edges;
};

// Appends each edge to its destination's list. Sources ascend in a list when buckets come row after row.
// std::invalid_argument for an edge that has no place.
template <class Id>
void append_in_edges(const uint32_t* src, const uint32_t* dst, const uint32_t* rel, const float* weight, size_t count,
                     const BucketRuns& runs, const InListsBeingFilled<Id>& lists) {
    runs.each(count, [&](uint64_t i, uint64_t j, size_t begin, size_t end) {
        const uint64_t first_source = i * runs.rows, shift = j * runs.rows - lists.first;
        for (size_t e = begin; e < end; ++e) {
            const uint64_t node = shift + dst[e];  // what is below `first` wraps round
            if (dst[e] >= runs.rows || node >= lists.nodes || static_cast<size_t>(lists.cursors[node]) >= lists.edges)
                throw std::invalid_argument("in-edge lists: an edge has no place");
            const int64_t at = lists.cursors[node]++;
            lists.sources[at] = static_cast<Id>(first_source + src[e]);
            if (lists.rels) lists.rels[at] = rel[e];
            if (lists.weights) lists.weights[at] = weight[e];
        }
    });
}

// Of the `nodes` nodes from `first` on: how many edges end (or begin) there, and in which splits they have edges.
template <class Count>
struct NodesBeingCounted {
    Count* degrees;  // or null
    uint8_t* splits;
    size_t nodes;
    uint64_t first;
};

// Counts the ends of edges. `offsets`: the ends' offsets inside their partitions: those of the sources, or, with `of_columns`, of
// the destinations. Other nodes are passed over. `mark`: the bit set in `splits`. std::invalid_argument for an offset in no
// partition.
template <class Count>
void count_ends(const uint32_t* offsets, size_t count, const BucketRuns& runs, bool of_columns, uint8_t mark,
                const NodesBeingCounted<Count>& out) {
    runs.each(count, [&](uint64_t i, uint64_t j, size_t begin, size_t end) {
        const uint64_t shift = (of_columns ? j : i) * runs.rows - out.first;
        for (size_t e = begin; e < end; ++e) {
            if (offsets[e] >= runs.rows) throw std::invalid_argument("an edge's end lies in no partition");
            const uint64_t node = shift + offsets[e];
            if (node >= out.nodes) continue;
            if (out.degrees) ++out.degrees[node];
            out.splits[node] |= mark;
        }
    });
}

// Adds how many of `values` are 0, 1, ... to `counts`; the last of them counts all that are larger too.
template <class Count>
void add_to_histogram(const Count* values, size_t count, int64_t* counts, size_t size) {
    const auto last = static_cast<Count>(size - 1);
    for (size_t i = 0; i < count; ++i) ++counts[std::min(values[i], last)];
}

}  // namespace marius
