// Local ids of a sample's nodes, in the order in which they appear first.
#include <algorithm>
#include <vector>

#include "base/tasks.h"
#include "graph/sampler.h"

namespace marius {
namespace {

constexpr int64_t kTaskEdges = 8192;  // that one thread takes at a time
constexpr int kMostShards = 16;       // of the table of first positions: threads that fill it

}  // namespace

// Begins to find where ids stand first, anew, and finds it for the ids that are there already.
template <class Id>
void NeighbourSampler<Id>::begin_labels(int threads) {
    first_seen_.begin(std::min(threads > 0 ? threads : default_threads(), kMostShards));
    first_.clear();
    find_first(threads);
}

template <class Id>
void NeighbourSampler<Id>::find_first(int threads) {
    first_seen_.extend(ids_.size());
    first_.extend(ids_.size() - first_.size());
    in_tasks(first_seen_.shards(), 1, threads,
             [&](int64_t shard, int64_t, int64_t) { first_seen_.find(shard, ids_.data(), first_.data()); });
}

// Gives local ids to ids_ from position `from` on, and appends the nodes that are new among them.
template <class Id>
void NeighbourSampler<Id>::label(int64_t from, int threads, NeighbourSample& out) {
    const int64_t count = static_cast<int64_t>(ids_.size()) - from;
    find_first(threads);
    out.labels.extend(count);
    const Id* ids = ids_.data();
    const uint32_t* first = first_.data();

    std::vector<int64_t> next_ids((count + kTaskEdges - 1) / kTaskEdges + 1, 0);  // local id of the first new node of each task
    in_tasks(count, kTaskEdges, threads, [&](int64_t task, int64_t begin, int64_t end) {
        int64_t found = 0;
        for (int64_t x = from + begin; x < from + end; ++x) found += first[x] == x;
        next_ids[task + 1] = found;
    });
    const int64_t known = static_cast<int64_t>(out.nodes.size());
    next_ids[0] = known;
    for (size_t task = 1; task < next_ids.size(); ++task) next_ids[task] += next_ids[task - 1];
    out.nodes.extend(next_ids.back() - known);
    out.rows.extend(next_ids.back() - known);
    out.hop_nodes.push(static_cast<int32_t>(next_ids.back() - known));

    in_tasks(count, kTaskEdges, threads, [&](int64_t task, int64_t begin, int64_t end) {
        int64_t local = next_ids[task];
        for (int64_t x = from + begin; x < from + end; ++x) {
            if (first[x] != x) continue;
            const uint64_t node = ids[x], k = residency_.partition_of(ids[x]);
            out.nodes.data()[local] = static_cast<int64_t>(node);
            out.rows.data()[local] =
                static_cast<int64_t>(everywhere_ ? node : lists_[k].base_row + (node - k * residency_.rows()));
            out.labels.data()[x] = static_cast<int32_t>(local++);
        }
    });
    in_tasks(count, kTaskEdges, threads, [&](int64_t, int64_t begin, int64_t end) {
        int32_t* labels = out.labels.data();
        for (int64_t x = from + begin; x < from + end; ++x)
            if (first[x] != x) labels[x] = labels[first[x]];
    });
}

template void NeighbourSampler<uint32_t>::begin_labels(int);
template void NeighbourSampler<uint32_t>::label(int64_t, int, NeighbourSample&);
template void NeighbourSampler<uint64_t>::begin_labels(int);
template void NeighbourSampler<uint64_t>::label(int64_t, int, NeighbourSample&);

}  // namespace marius
