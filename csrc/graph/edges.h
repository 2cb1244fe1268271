// Packs edges into records whose order, as numbers, is the dataset's order of edges; counts and unpacks sorted records.
//
// A record begins with a key: source partition, destination partition, destination offset, source offset, relation and split,
// from the highest bits on, in one word where that fits 64 bits, else in two. Weight and time follow in words of their own. So
// edges are ordered by (bucket, destination, source, relation, split, weight, time), and equal edges of different splits are
// neighbours. Valid and test edges are packed in the reverse direction too, so that a training edge that is their reverse is a
// neighbour.
#pragma once
#include <cstddef>
#include <cstdint>

#include "graph/records.h"

namespace marius {

struct EdgeLayout {
    EdgeLayout(uint64_t rows, uint64_t partitions, uint64_t relations, int carried);

    uint64_t rows;  // nodes per partition
    uint64_t partitions;
    int partition_bits, offset_bits, relation_bits;
    int key_words, carried;  // 1 or 2; 0 to 2
    int words() const { return key_words + carried; }
};

// Says which split an edge belongs to. With `by_hash` 63 bits of a keyed hash of its ends' ranks decide: below bounds[0] train,
// below bounds[1] valid, else test. The reverse of an edge belongs to the same split. With `undirected` both directions are
// stored.
struct EdgeRules {
    bool by_hash;
    uint64_t key;
    uint64_t bounds[2];
    uint32_t split;  // without by_hash
    bool undirected;
};

// Whether an edge's reverse is packed too: to be stored; or, for an edge of valid or test, to be counted if training has it or
// has an edge between its ends. (With `by_hash` there is no need: the reverse of an edge is in the edge's own split.)
inline bool both_ways(const EdgeRules& rules) { return rules.undirected || (!rules.by_hash && rules.split != 0); }

uint32_t split_of(uint64_t src, uint64_t rel, uint64_t dst, const EdgeRules& rules);

// Spooled edges, with provisional ids. Node src[i] has the final id node_ids[src[i]]; split_ids[src[i]] is hashed for the split.
template <class Id>
struct SpooledEdges {
    const uint32_t* src;
    const uint32_t* rel;
    const uint32_t* dst;
    const uint64_t* carried;  // (count, layout.carried), or null
    size_t count;
    const Id* node_ids;
    const Id* split_ids;
    size_t nodes;
    const uint32_t* relation_ids;
    size_t relations;
};

// Packs edges into records of layout.words() words: one for an edge, two for one that is packed both ways and is no self-loop.
// Returns the number of records. The result is the same for any number of threads. std::invalid_argument for an end or a relation
// out of range.
template <class Id>
size_t pack_edges(const SpooledEdges<Id>& edges, const EdgeLayout& layout, const EdgeRules& rules, uint64_t* out, int threads);

// Edges as a dataset of another layout stores them: offsets inside partitions, bucket after bucket.
struct StoredEdges {
    const uint32_t* src;
    const uint32_t* dst;
    const uint32_t* rel;
    const uint64_t* carried;  // (count, layout.carried), or null
    size_t count;
    uint64_t first;                 // how many edges come before these
    const int64_t* bucket_offsets;  // (partitions^2 + 1), where each bucket begins among all edges
    uint64_t rows, partitions;
};

// Packs stored edges into one record each, of split `split`. std::invalid_argument for an edge in no bucket, or an end or a
// relation out of range.
void pack_stored(const StoredEdges& edges, const EdgeLayout& layout, uint64_t nodes, uint64_t relations, uint32_t split,
                 uint64_t* out, int threads);

// Returns the flat index of a record's bucket.
uint64_t bucket_of(const uint64_t* record, const EdgeLayout& layout);

// Counts of sorted records, in arrays of the caller: one entry for each node where no other length is given. Count: uint32_t, or
// uint64_t where a node may have 2^32 edges.
template <class Count>
struct EdgeTally {
    int64_t* bucket_counts;    // (3, partitions^2)
    int64_t* relation_counts;  // (3, relations)
    Count* out_degrees;        // of training edges; these three may be null together
    Count* in_degrees;
    uint8_t* splits;            // bit s: has an edge in split s
    int64_t* duplicates;        // (3)
    int64_t* self_loops;        // (3)
    int64_t* also_in_train;     // (3); this and the next two are of the edges that are written
    int64_t* reverse_in_train;  // (3): their reverse is a training edge
    int64_t* inverse_in_train;  // (3): a training edge of any relation leads from their destination to their source
};

struct Unpacked {
    size_t counts[3];
};

constexpr uint64_t kNoSplit = ~0ULL;

// What must be known of the records before: the last key without its split, the last split, whether a training edge is equal to
// it (in_train) or has the same ends (joined), and how many reverses of valid and test edges with these ends wait for one
// (waiting).
struct EdgeStream {
    uint64_t key[2] = {~0ULL, ~0ULL};
    uint64_t split = kNoSplit, in_train = 0, joined = 0;
    int64_t waiting[2] = {0, 0};
};

// Unpacks sorted records into offsets: out is (3 splits, 3 columns src dst rel, stride), carried_out (3 splits, stride,
// layout.carried) or null. With `drop_duplicates` edges of equal ends, relation and split are written once. std::invalid_argument
// for a record that lies in no partition.
template <class Count>
Unpacked unpack_edges(const uint64_t* records, size_t count, const EdgeLayout& layout, uint64_t nodes, uint64_t relations,
                      bool drop_duplicates, EdgeStream& stream, const EdgeTally<Count>& tally, uint32_t* out,
                      uint64_t* carried_out, size_t stride);

}  // namespace marius
