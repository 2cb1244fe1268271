#include "graph/trees.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/tasks.h"

namespace marius {
namespace {

constexpr int64_t kTaskTrees = 64;  // that one thread takes at a time

template <class T>
void append(Growing<T>& all, const Growing<T>& more) {
    all.append(more.data(), more.size());
}

// Appends a tree as it was sampled: its own local ids, and an indptr that begins with 0.
void append(NeighbourSample& all, const NeighbourSample& tree) {
    append(all.nodes, tree.nodes);
    append(all.rows, tree.rows);
    append(all.hop_nodes, tree.hop_nodes);
    append(all.indptr, tree.indptr);
    append(all.labels, tree.labels);
    append(all.rel, tree.rel);
    append(all.hop_edges, tree.hop_edges);
    all.neighbours += tree.neighbours;
    all.missing += tree.missing;
}

// Puts trees hop beside hop. Each part has kTaskTrees of them, one after another.
class Interleaving {
public:
    Interleaving(const std::vector<NeighbourSample>& parts, int64_t trees, size_t hops)
        : parts_(parts), trees_(trees), hops_(hops), node_starts_(starts(hops + 1, &NeighbourSample::hop_nodes)),
          edge_starts_(starts(hops, &NeighbourSample::hop_edges)) {}

    NeighbourSample all(int threads) const {
        const int64_t edges = edge_starts_.back();
        if (static_cast<uint64_t>(trees_ + edges) > FirstSeen<uint32_t>::kMostPositions)
            throw std::invalid_argument(std::to_string(edges) + " sampled edges: a batch holds less than 2^31: use fewer seeds " +
                                        "or smaller fanouts");
        NeighbourSample out;
        bool with_rel = false;
        for (const NeighbourSample& part : parts_) {
            out.neighbours += part.neighbours;
            out.missing += part.missing;
            with_rel |= part.rel.size() > 0;
        }
        out.nodes.extend(node_starts_.back());
        out.rows.extend(node_starts_.back());
        out.indptr.extend(node_starts_[hops_ * trees_] + 1);
        out.indptr.data()[0] = 0;
        out.labels.extend(trees_ + edges);
        if (with_rel) out.rel.extend(edges);
        for (size_t hop = 0; hop <= hops_; ++hop) out.hop_nodes.push(of_hop(node_starts_, hop));
        for (size_t hop = 0; hop < hops_; ++hop) out.hop_edges.push(of_hop(edge_starts_, hop));
        in_tasks(trees_, kTaskTrees, threads,
                 [&](int64_t task, int64_t begin, int64_t end) { place(parts_[task], begin, end, out); });
        return out;
    }

private:
    // Where each hop of each tree begins, hop after hop, and where the last one ends.
    std::vector<int64_t> starts(size_t hops, Growing<int32_t> NeighbourSample::* counts) const {
        std::vector<int64_t> found(hops * trees_ + 1, 0);
        for (int64_t tree = 0; tree < trees_; ++tree) {
            const int32_t* of_tree = (parts_[tree / kTaskTrees].*counts).data() + tree % kTaskTrees * hops;
            for (size_t hop = 0; hop < hops; ++hop) found[hop * trees_ + tree + 1] = of_tree[hop];
        }
        for (size_t at = 1; at < found.size(); ++at) found[at] += found[at - 1];
        return found;
    }

    int32_t of_hop(const std::vector<int64_t>& starts, size_t hop) const {
        return static_cast<int32_t>(starts[(hop + 1) * trees_] - starts[hop * trees_]);
    }

    void place(const NeighbourSample& part, int64_t begin, int64_t end, NeighbourSample& out) const {
        const int64_t *nodes = part.nodes.data(), *rows = part.rows.data(), *indptr = part.indptr.data();
        const int32_t *labels = part.labels.data(), *new_nodes = part.hop_nodes.data(), *new_edges = part.hop_edges.data();
        const uint32_t* rel = out.rel.size() ? part.rel.data() : nullptr;
        std::vector<int64_t> first(hops_ + 2, 0);  // the tree's own local id of the first node of each hop
        for (int64_t tree = begin; tree < end; ++tree, new_nodes += hops_ + 1, new_edges += hops_) {
            for (size_t hop = 0; hop <= hops_; ++hop) {
                const int64_t to = node_starts_[hop * trees_ + tree];
                first[hop + 1] = first[hop] + new_nodes[hop];
                std::copy(nodes + first[hop], nodes + first[hop + 1], out.nodes.data() + to);
                std::copy(rows + first[hop], rows + first[hop + 1], out.rows.data() + to);
            }
            out.labels.data()[tree] = static_cast<int32_t>(tree);
            ++labels;  // the seed's
            for (size_t hop = 0; hop < hops_; ++hop) {
                const int64_t to = edge_starts_[hop * trees_ + tree], count = new_edges[hop];
                int64_t* ends = out.indptr.data() + node_starts_[hop * trees_ + tree] + 1 - first[hop];
                for (int64_t i = first[hop]; i < first[hop + 1]; ++i) ends[i] = to + indptr[i + 1] - indptr[first[hop]];
                for (int64_t e = 0; e < count; ++e) out.labels.data()[trees_ + to + e] = placed(labels[e], tree, first);
                labels += count;
                if (!rel) continue;
                std::copy(rel, rel + count, out.rel.data() + to);
                rel += count;
            }
            nodes += first[hops_ + 1];
            rows += first[hops_ + 1];
            indptr += first[hops_] + 1;
        }
    }

    int32_t placed(int32_t label, int64_t tree, const std::vector<int64_t>& first) const {
        size_t hop = hops_;
        while (first[hop] > label) --hop;
        return static_cast<int32_t>(node_starts_[hop * trees_ + tree] + label - first[hop]);
    }

    const std::vector<NeighbourSample>& parts_;
    int64_t trees_;
    size_t hops_;
    std::vector<int64_t> node_starts_, edge_starts_;
};

}  // namespace

template <class Id>
NeighbourSample sample_trees(const NeighbourSampler<Id>& sampler, const SampleRequest& request) {
    const int64_t trees = request.seed_count;
    std::vector<NeighbourSample> parts((trees + kTaskTrees - 1) / kTaskTrees);
    in_tasks(trees, kTaskTrees, request.threads, [&](int64_t task, int64_t begin, int64_t end) {
        NeighbourSampler<Id> own = sampler.beside();
        SampleRequest of_tree = request;
        of_tree.threads = of_tree.seed_count = 1;
        for (int64_t tree = begin; tree < end; ++tree) {
            of_tree.seeds = request.seeds + tree;
            of_tree.seed = hash_int(static_cast<uint64_t>(tree), request.seed);
            append(parts[task], own.sample(of_tree));
        }
    });
    return Interleaving(parts, trees, request.fanouts.size()).all(request.threads);
}

template NeighbourSample sample_trees(const NeighbourSampler<uint32_t>&, const SampleRequest&);
template NeighbourSample sample_trees(const NeighbourSampler<uint64_t>&, const SampleRequest&);

}  // namespace marius
