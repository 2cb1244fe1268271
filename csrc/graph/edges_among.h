// Finds all resident edges among the nodes of a batch: the induced subgraph.
#pragma once
#include <cstdint>

#include "graph/growing.h"
#include "graph/sampler.h"

namespace marius {

// Node i's in-edges come from the local ids indices[indptr[i]] to indices[indptr[i + 1]], in the order of its list.
struct EdgesAmong {
    Growing<int64_t> indptr;
    Growing<int32_t> indices;
    Growing<uint32_t> rel;  // where there are relations
};

// `nodes`: `count` resident nodes. `trees`: the tree that each is in, from 0 on, null for a single one: a node stands once in a
// tree, and edges lie inside of one. The shorter of a node's list and its tree is searched for in the other: so no list is read
// whole that is longer than the batch. std::invalid_argument for other nodes.
template <class Id>
EdgesAmong edges_among(const NeighbourSampler<Id>& sampler, const int64_t* nodes, const int32_t* trees, int64_t count,
                       int threads);

}  // namespace marius
