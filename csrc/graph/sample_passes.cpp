// Samples that grow in passes over the lists of one partition after another. See GrowingSample.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "graph/sampler.h"

namespace marius {

template <class Id>
GrowingSample<Id> NeighbourSampler<Id>::begin(SampleRequest request) {
    if (!everywhere_) throw std::invalid_argument("passes: the sampler draws among resident sources only");
    GrowingSample<Id> growing;
    growing.request = std::move(request);
    std::swap(ids_, growing.ids);
    add_seeds(growing.request, growing.out);
    std::swap(ids_, growing.ids);
    growing.out.indptr.push(0);
    open_hop(growing);
    return growing;
}

// Sorts the hop's nodes by partition, those of a partition in their order.
template <class Id>
void NeighbourSampler<Id>::open_hop(GrowingSample<Id>& growing) {
    growing.begins.clear();
    if (growing.hop == growing.request.fanouts.size()) return;
    const int64_t first = static_cast<int64_t>(growing.out.indptr.size()) - 1;
    const int64_t count = static_cast<int64_t>(growing.out.nodes.size()) - first;
    const int64_t* nodes = growing.out.nodes.data() + first;
    const auto partition = [&](int64_t i) { return residency_.partition_of(static_cast<Id>(nodes[i])); };
    growing.begins.assign(residency_.partitions() + 1, 0);
    for (int64_t i = 0; i < count; ++i) ++growing.begins[partition(i) + 1];
    for (size_t k = 1; k < growing.begins.size(); ++k) growing.begins[k] += growing.begins[k - 1];
    std::vector<int64_t> next(growing.begins.begin(), growing.begins.end() - 1);
    for (Growing<int64_t>* array : {&growing.nodes, &growing.places, &growing.starts}) array->clear();
    growing.nodes.extend(count);
    growing.places.extend(count);
    growing.starts.extend(count + 1);
    growing.starts.data()[0] = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = next[partition(i)]++;
        growing.nodes.data()[at] = nodes[i];
        growing.places.data()[at] = i;
    }
    growing.drawn.clear();
    growing.rel.clear();
    growing.done = 0;
}

template <class Id>
void NeighbourSampler<Id>::draw(GrowingSample<Id>& growing, uint64_t k) {
    const auto refuse = [&](const char* why) { throw std::invalid_argument("partition " + std::to_string(k) + why); };
    if (k >= residency_.partitions() || !residency_.has(k)) refuse(": its lists are not here");
    if (growing.begins.empty()) refuse(": the sample has all its hops");
    if (static_cast<int64_t>(k) < growing.done || growing.begins[k] != growing.begins[growing.done])
        refuse(": each partition with nodes draws once in a hop, in order");
    const int64_t begin = growing.begins[k], count = growing.begins[k + 1] - begin;
    draw(growing.request, growing.hop, growing.nodes.data() + begin, count, growing.starts.data() + begin,
         {&growing.drawn, &growing.rel}, growing.out);
    growing.done = static_cast<int64_t>(k) + 1;
}

// Puts what was drawn into the order of the nodes.
template <class Id>
void NeighbourSampler<Id>::close_hop(GrowingSample<Id>& growing) {
    if (growing.begins.empty() || growing.begins[growing.done] != growing.begins.back())
        throw std::invalid_argument("close_hop: not all partitions with nodes have drawn");
    NeighbourSample& out = growing.out;
    const int64_t first = static_cast<int64_t>(out.indptr.size()) - 1, count = static_cast<int64_t>(growing.nodes.size());
    const int64_t from = static_cast<int64_t>(growing.ids.size()), edges = static_cast<int64_t>(growing.drawn.size());
    require_room(from + edges);
    std::swap(ids_, growing.ids);
    begin_labels(growing.request.threads);  // other samples grew meanwhile
    const int64_t* starts = growing.starts.data();
    out.indptr.extend(count);
    int64_t* indptr = out.indptr.data() + first;
    for (int64_t at = 0; at < count; ++at) indptr[growing.places[at] + 1] = starts[at + 1] - starts[at];
    for (int64_t i = 0; i < count; ++i) indptr[i + 1] += indptr[i];
    ids_.extend(edges);
    if (with_rel_) out.rel.extend(edges);
    for (int64_t at = 0; at < count; ++at) {
        const int64_t to = indptr[growing.places[at]] - indptr[0], length = starts[at + 1] - starts[at];
        std::copy_n(growing.drawn.data() + starts[at], length, ids_.data() + from + to);
        if (with_rel_) std::copy_n(growing.rel.data() + starts[at], length, out.rel.data() + indptr[0] + to);
    }
    out.hop_edges.push(static_cast<int32_t>(edges));
    label(from, growing.request.threads, out);
    std::swap(ids_, growing.ids);
    ++growing.hop;
    open_hop(growing);
}

template GrowingSample<uint32_t> NeighbourSampler<uint32_t>::begin(SampleRequest);
template GrowingSample<uint64_t> NeighbourSampler<uint64_t>::begin(SampleRequest);
template void NeighbourSampler<uint32_t>::draw(GrowingSample<uint32_t>&, uint64_t);
template void NeighbourSampler<uint64_t>::draw(GrowingSample<uint64_t>&, uint64_t);
template void NeighbourSampler<uint32_t>::close_hop(GrowingSample<uint32_t>&);
template void NeighbourSampler<uint64_t>::close_hop(GrowingSample<uint64_t>&);

}  // namespace marius
