// Gives a sample more nodes and edges than it has, which change nothing, so that samples of about the same size have the same size.
#pragma once
#include <cstdint>

#include "graph/growing.h"

namespace marius {

// A sample as `NeighbourSample` has it, of `hops` hops; `indices` are the labels behind those of the seeds.
struct SampleView {
    int64_t hops;
    const int64_t *nodes, *rows;
    const int32_t *hop_nodes, *hop_edges;
    const int64_t* indptr;
    const int32_t* indices;
    const uint32_t* rel;  // null where there is none
};

struct PaddedSample {
    Growing<int64_t> nodes, rows, indptr;
    Growing<int32_t> indices;
    Growing<uint32_t> rel;
};

// Puts more_nodes[h] nodes behind those of hop h, which are the first seed once more, and more_edges[h] edges behind those that
// hop h draws. These go from each added node of hop h to itself, about as many each. So nothing that a seed depends on takes from
// them. Throws std::invalid_argument for numbers below 0, edges without a node to have them, and more than 2^31 - 1 of either.
PaddedSample padded(const SampleView& sample, const int64_t* more_nodes, const int64_t* more_edges);

}  // namespace marius
