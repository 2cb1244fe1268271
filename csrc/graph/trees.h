// Samples a neighbourhood of its own for each seed, a tree: a node may stand in several trees, but once in each.
#pragma once
#include "graph/sampler.h"

namespace marius {

// Samples as NeighbourSampler::sample does, but the seeds may stand there twice, and what a node draws also depends on its seed's
// place. Nodes and edges are in order of hops, those of a hop in order of trees, as in PyTorch Geometric's disjoint batches.
template <class Id>
NeighbourSample sample_trees(const NeighbourSampler<Id>& sampler, const SampleRequest& request);

}  // namespace marius
