// The passes of a partitioner that reads neighbour lists as a stream: label propagation with bounds on sizes, after Meyerhenke,
// Sanders and Schulz, "Partitioning Complex Networks via Size-constrained Clustering" (SEA 2014), in the semi-external form of
// Akhremtsev, Sanders and Schulz, "(Semi-)External Algorithms for Graph Partitioning and Clustering" (ALENEX 2015): a few numbers
// for each node are in memory, but no arcs. One thread visits the nodes in the order of their lists, so the result depends on the
// arcs alone.
//
// Of a list longer than ArcReader::kPart only the first part votes; as node numbers are random, it is a sample.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/arcs.h"

namespace marius {

// Sums of weights by label: open addressing, cleared in proportion to what was touched.
class Votes {
public:
    void start(size_t most);
    void add(uint32_t label, uint64_t weight);
    uint64_t of(uint32_t label) const;

    struct Entry {
        uint32_t label;
        size_t slot;
        uint64_t weight;
    };
    const std::vector<Entry>& entries() const { return entries_; }

private:
    size_t find(uint32_t label) const;

    std::vector<uint32_t> slots_;  // index of the entry + 1
    std::vector<Entry> entries_;
    size_t mask_ = 0;
};

// One pass of clustering: a node joins the cluster that most of its arcs' weight leads to, as long as no cluster weighs
// more than `most`. Nodes without arcs join each other.
struct Clusters {
    uint32_t* labels;         // of each node
    uint32_t* sizes;          // weight of each label's cluster
    const uint32_t* weights;  // of each node; null: 1
    uint64_t nodes, most;
};

class ClusterPass {
public:
    ClusterPass(Clusters clusters, uint64_t seed) : clusters_(clusters), seed_(seed), reader_(clusters.nodes) {}
    void read(const uint8_t* bytes, size_t count);
    uint64_t finish();  // how many nodes changed their cluster

private:
    void visit(uint64_t node, const Arc* arcs, size_t count, bool first);

    void fill(uint64_t node);
    void move(uint64_t node, uint32_t label, uint32_t weight);

    static constexpr uint64_t kNone = ~0ULL;
    Clusters clusters_;
    uint64_t seed_, moves_ = 0, lonely_ = kNone;  // lonely_: the cluster that nodes without arcs join
    ArcReader reader_;
    Votes votes_;
};

// Arcs between clusters, to be sorted and added up: those of one list that lead to the same cluster are one record.
class Contraction {
public:
    Contraction(const uint32_t* labels, uint64_t nodes) : labels_(labels), reader_(nodes) {}
    void read(const uint8_t* bytes, size_t count, std::vector<ArcRecord>& out);
    void finish(std::vector<ArcRecord>& out);

private:
    void visit(uint64_t node, const Arc* arcs, size_t count, std::vector<ArcRecord>& out);

    const uint32_t* labels_;
    ArcReader reader_;
    Votes votes_;
};

// Which partition each node is in. The first nodes and all others are two groups, each with room of its own in every partition.
struct Assignment {
    uint16_t* parts;          // of each node
    int64_t* loads;           // (2, partitions) weight
    const int64_t* room;      // (2, partitions) the most weight
    const uint32_t* weights;  // of each node; null: 1
    uint64_t first, nodes, partitions;
};

// One pass of refinement. A node moves to the partition that more of its arcs lead to, if that has room. Where a node's own
// partition is too full, it also goes where at most `loss` / 256 of arcs' weight are lost for each unit of its weight.
class RefinePass {
public:
    RefinePass(Assignment assignment, uint64_t loss)
        : assignment_(assignment), loss_(loss), reader_(assignment.nodes), votes_(assignment.partitions, 0) {}
    void read(const uint8_t* bytes, size_t count);
    uint64_t finish();  // how many nodes moved

private:
    void visit(uint64_t node, const Arc* arcs, size_t count, bool first);

    Assignment assignment_;
    uint64_t loss_, moves_ = 0;
    ArcReader reader_;
    std::vector<uint64_t> votes_;
};

// Renumbers labels 0, 1, 2, ... in their order. Returns how many there are. Overwrites `sizes`, which a ClusterPass has left.
uint64_t number_clusters(uint32_t* labels, uint32_t* sizes, uint64_t nodes);

// Gives nodes places, in units of weight, side by side inside their clusters. `free`: where each cluster begins; it moves on.
void lay_out(const uint32_t* parents, const uint32_t* weights, uint64_t nodes, uint32_t* free, uint32_t* starts);

// Makes both groups fill their room (2, partitions) exactly, partition after partition, in the order of (old partition, node).
void deal(uint16_t* parts, uint64_t first, uint64_t nodes, uint64_t partitions, const int64_t* room);

// Numbers nodes by (partition, place so far). Overwrites `order` and its inverse `rank` with the new order. `starts`: the first
// id of each partition.
void place(const uint16_t* parts, uint64_t nodes, int64_t* starts, uint32_t* order, uint32_t* rank);

}  // namespace marius
