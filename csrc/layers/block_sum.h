// Adds up the rows of neighbours block by block of their ids, where the rows of all nodes do not fit in memory.
#pragma once
#include <cstdint>

#include "layers/rows.h"

namespace marius {

// The in-edges of targets: those of t come from sources[indptr[t]] .. sources[indptr[t + 1] - 1], node ids, ascending. Id is
// uint32 or uint64.
template <class Id> struct AscendingLists {
    const std::int64_t* indptr;
    std::int64_t targets;
    const Id* sources;
    std::int64_t edges;
};

// What the row of a source counts in the sum of a target: the product of both factors, and of the edge's. of_sources: (block),
// of_edges: (edges), or null: all 1.
// without: the node id of target 0, where edges from a node to itself do not count; else -1.
struct Factors {
    const float* of_targets;
    const float* of_sources = nullptr;
    std::int64_t without = -1;
    const float* of_edges = nullptr;
};

// Adds to the sums of targets the rows of a block of nodes, whose ids begin with `first`. next[t]: the first edge of t whose
// source was not in a block yet; it is moved on. Blocks must come in ascending order, without gaps. Edges are added in order, so
// the sums have the same bits however the nodes are cut into blocks, and for any number of threads.
// Throws std::invalid_argument for lists that are not ascending or a source before the block.
template <class Id>
void add_block(const AscendingLists<Id>& lists, Rows<const float> block, std::int64_t first, const Factors& factors,
               std::int64_t* next, Rows<float> sums, std::int64_t dim, int threads);

}  // namespace marius
