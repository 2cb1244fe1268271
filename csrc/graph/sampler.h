// Multi-hop neighbour sampling over the in-edges of resident partitions. (Source: DENSE, MariusGNN, EuroSys 2023.)
//
// Nodes and edges stand in PyTorch Geometric's order: the seeds, then the nodes that appear first at hop 1, and so on. A node is
// expanded once, at the hop after it appears. So the seeds and the nodes of the first h hops are all that h hops reach.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/edge_choice.h"
#include "graph/excluded_edges.h"
#include "graph/first_seen.h"
#include "graph/growing.h"
#include "graph/residency.h"

namespace marius {

// The in-edges of one partition's nodes: node k * rows + i has list [indptr[i], indptr[i + 1]), sources ascending.
template <class Id>
struct InLists {
    int64_t base_row;  // the buffer row of the partition's first node
    const int64_t* indptr;
    const Id* sources;
    const uint32_t* rel;             // null where there is one relation
    const float* weights = nullptr;  // finite, not negative; null where all edges are alike
};

struct NeighbourSample {
    Growing<int64_t> nodes, rows;  // node ids and buffer rows
    Growing<int32_t> hop_nodes;    // seeds, new at hop 1, ...
    Growing<int64_t> indptr;       // by expanded node
    Growing<int32_t> labels;       // local ids: of the seeds, then of the sampled neighbours, edge after edge
    Growing<uint32_t> rel;         // by edge, where there are relations
    Growing<int32_t> hop_edges;
    int64_t neighbours = 0;  // in-edges of the expanded nodes
    int64_t missing = 0;     // those of them whose source is not resident
};

struct SampleRequest {
    const int64_t* seeds;  // unique and resident
    int64_t seed_count;
    std::vector<Fanout> fanouts;  // by hop
    uint64_t seed;
    int threads;  // 0: all there are
    ExcludedEdges excluded;
    bool replace = false;  // whether a node may draw an edge again
};

// A sample that grows in passes: hop after hop, and in each hop partition after partition. So one partition's lists are enough
// at a time, and many samples grow in the same pass.
template <class Id>
struct GrowingSample {
    SampleRequest request;
    NeighbourSample out;
    Growing<Id> ids;  // of the seeds and of every sampled neighbour
    size_t hop = 0;
    // The nodes of the hop under way, by partition, and what they drew in this order.
    std::vector<int64_t> begins;     // where each partition's nodes begin; one more than partitions; empty after the last hop
    Growing<int64_t> nodes, places;  // and where they stand in out.nodes, from the hop's first on
    Growing<int64_t> starts;         // of what a node drew; one more than there are nodes
    Growing<Id> drawn;
    Growing<uint32_t> rel;
    int64_t done = 0;  // partitions below have drawn
};

template <class Id>
class NeighbourSampler {
public:
    // `everywhere`: a source need not be resident to be drawn, and rows are node ids.
    NeighbourSampler(uint64_t rows_per_partition, uint64_t nodes, bool everywhere = false)
        : residency_(rows_per_partition, nodes), lists_(residency_.partitions()), everywhere_(everywhere) {}

    // Another sampler among the same lists, for another thread.
    NeighbourSampler beside() const;

    const Residency& residency() const { return residency_; }
    const InLists<Id>& lists(uint64_t k) const { return lists_[k]; }
    bool with_rel() const { return with_rel_; }
    int64_t edges_moved() const { return edges_moved_; }  // edges of all the lists that ever entered

    // The lists stay the caller's, and must live until `leave`. Where they have weights, edges are drawn by weight.
    // std::invalid_argument where they cannot be the partition's.
    void enter(uint64_t k, const InLists<Id>& lists, int64_t edges);
    void leave(uint64_t k);
    void move(uint64_t k, int64_t base_row);  // the rows of a partition that stays

    // Samples; the result is the same for any number of threads. Not for several callers at a time: memory is kept for the next.
    NeighbourSample sample(const SampleRequest& request);

    // The same sample in passes, of a sampler that draws everywhere: `begin`; then for each hop `draw` with the lists of each
    // partition that has nodes, ascending, and `close_hop`. std::invalid_argument for another order, or lists that are not here.
    GrowingSample<Id> begin(SampleRequest request);
    void draw(GrowingSample<Id>& growing, uint64_t k);
    void close_hop(GrowingSample<Id>& growing);

private:
    struct Drawn {  // where drawn edges are appended
        Growing<Id>* ids;
        Growing<uint32_t>* rel;
    };
    struct Expansion {  // what a node may draw from
        const InLists<Id>* lists;
        int64_t first, candidates;  // neighbours from `first` on; where there are spans, those of NodeGroup::spans instead
        uint32_t span, spans;
    };
    struct Span {  // candidate c lies at position c + shift, where this is the last span with before <= c
        int64_t before, shift;
    };
    struct NodeGroup {  // neighbouring nodes that one thread expands together
        std::vector<Span> spans;
        std::vector<int64_t> chosen;  // positions, node after node, of a hop whose edges are chosen by keys
        int64_t neighbours, missing;
    };

    void add_seeds(const SampleRequest& request, NeighbourSample& out);
    void expand(const SampleRequest& request, size_t hop, int64_t first, int64_t last, NeighbourSample& out);
    // Appends what nodes with resident lists draw. starts[0] is given; starts[i + 1] becomes where node i's edges end.
    void draw(const SampleRequest& request, size_t hop, const int64_t* nodes, int64_t count, int64_t* starts, const Drawn& drawn,
              NeighbourSample& out);
    static void require_room(int64_t edges);
    void open_hop(GrowingSample<Id>& growing);
    void expand_group(const SampleRequest& request, const int64_t* nodes, int64_t count, int64_t fanout, Expansion* expansions,
                      NodeGroup& group, int64_t* counts) const;
    void narrow(const SampleRequest& request, uint64_t node, Expansion& e, NodeGroup& group, Stretches& stretches) const;
    static uint64_t position(const Expansion& e, const NodeGroup& group, uint64_t candidate);
    void draw_group(const SampleRequest& request, size_t hop, const int64_t* nodes, const int64_t* starts, int64_t count,
                    const Expansion* expansions, const NodeGroup& group, Id* ids, uint32_t* rel) const;
    bool by_keys(const Fanout& fanout, bool replace) const;
    void choose_group(const SampleRequest& request, size_t hop, const int64_t* nodes, int64_t count, const Expansion* expansions,
                      NodeGroup& group, int64_t* counts) const;
    void take_group(const int64_t* starts, int64_t count, const Expansion* expansions, const NodeGroup& group, Id* ids,
                    uint32_t* rel) const;
    void begin_labels(int threads);
    void find_first(int threads);
    void label(int64_t from, int threads, NeighbourSample& out);

    Residency residency_;
    std::vector<InLists<Id>> lists_;
    bool everywhere_, with_rel_ = false, weighted_ = false;
    int64_t edges_moved_ = 0;
    FirstSeen<Id> first_seen_;
    Growing<Id> ids_;          // of the seeds and of every sampled neighbour
    Growing<uint32_t> first_;  // position in ids_ where that id stands first
    Growing<Expansion> expansions_;
    std::vector<NodeGroup> groups_;
};

}  // namespace marius
