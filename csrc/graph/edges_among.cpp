#include "graph/edges_among.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/tasks.h"

namespace marius {
namespace {

constexpr int64_t kTaskNodes = 512;  // that one thread takes at a time

// The nodes of a batch, tree after tree, ascending in each.
template <class Id>
class SortedTrees {
public:
    SortedTrees(const int64_t* nodes, const int32_t* trees, int64_t count) : ids_(count), local_(count), starts_{0} {
        std::iota(local_.begin(), local_.end(), 0);
        std::sort(local_.begin(), local_.end(), [&](int32_t a, int32_t b) {
            return trees && trees[a] != trees[b] ? trees[a] < trees[b] : nodes[a] < nodes[b];
        });
        for (int64_t at = 0; at < count; ++at) {
            const size_t tree = trees ? trees[local_[at]] : 0;
            ids_[at] = static_cast<Id>(nodes[local_[at]]);
            if (starts_.size() == tree + 1 && at > starts_.back() && ids_[at] == ids_[at - 1])
                throw std::invalid_argument("node " + std::to_string(ids_[at]) + ": stands there twice");
            while (starts_.size() <= tree) starts_.push_back(at);
        }
        starts_.push_back(count);
    }

    // Calls found(local id of the source, position) for each in-edge, of those at list[begin, end), whose source is in `tree`.
    template <class Found>
    void meet(size_t tree, const Id* list, int64_t begin, int64_t end, Found&& found) const {
        int64_t at = starts_[tree];
        const int64_t last = starts_[tree + 1];
        if (end - begin > last - at) {
            for (; at < last && begin < end; ++at)
                for (begin = first_not_below(list, begin, end, ids_[at]); begin < end && list[begin] == ids_[at]; ++begin)
                    found(local_[at], begin);
        } else {
            for (; begin < end && at < last; ++begin) {
                at = first_not_below(ids_.data(), at, last, list[begin]);
                if (at < last && ids_[at] == list[begin]) found(local_[at], begin);
            }
        }
    }

private:
    std::vector<Id> ids_;
    std::vector<int32_t> local_;
    std::vector<int64_t> starts_;  // by tree
};

struct PartOfEdges {  // of the nodes of a task
    std::vector<int32_t> indices;
    std::vector<uint32_t> rel;
};

}  // namespace

template <class Id>
EdgesAmong edges_among(const NeighbourSampler<Id>& sampler, const int64_t* nodes, const int32_t* trees, int64_t count,
                       int threads) {
    const Residency& here = sampler.residency();
    for (int64_t i = 0; i < count; ++i)
        if (static_cast<uint64_t>(nodes[i]) >= here.nodes() || !here.has(here.partition_of(static_cast<Id>(nodes[i]))) ||
            (trees && trees[i] < 0))
            throw std::invalid_argument("node " + std::to_string(nodes[i]) + ": no resident node of a tree");
    const SortedTrees<Id> sorted(nodes, trees, count);
    EdgesAmong out;
    out.indptr.extend(count + 1);
    out.indptr.data()[0] = 0;
    std::vector<PartOfEdges> parts((count + kTaskNodes - 1) / kTaskNodes);
    in_tasks(count, kTaskNodes, threads, [&](int64_t task, int64_t begin, int64_t end) {
        PartOfEdges& part = parts[task];
        for (int64_t i = begin; i < end; ++i) {
            const uint64_t k = here.partition_of(static_cast<Id>(nodes[i]));
            const InLists<Id>& lists = sampler.lists(k);
            const int64_t* ends = lists.indptr + (static_cast<uint64_t>(nodes[i]) - k * here.rows());
            const size_t before = part.indices.size();
            sorted.meet(trees ? trees[i] : 0, lists.sources, ends[0], ends[1], [&](int32_t source, int64_t at) {
                part.indices.push_back(source);
                if (lists.rel) part.rel.push_back(lists.rel[at]);
            });
            out.indptr.data()[i + 1] = static_cast<int64_t>(part.indices.size() - before);
        }
    });
    for (int64_t i = 0; i < count; ++i) out.indptr.data()[i + 1] += out.indptr[i];
    for (const PartOfEdges& part : parts) {
        out.indices.append(part.indices.data(), part.indices.size());
        out.rel.append(part.rel.data(), part.rel.size());
    }
    return out;
}

template EdgesAmong edges_among(const NeighbourSampler<uint32_t>&, const int64_t*, const int32_t*, int64_t, int);
template EdgesAmong edges_among(const NeighbourSampler<uint64_t>&, const int64_t*, const int32_t*, int64_t, int);

}  // namespace marius
