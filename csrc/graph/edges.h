// Edges on their way into buckets: packed into 16-byte records whose plain order is the dataset's order.
#pragma once
#include <cstddef>
#include <cstdint>

namespace marius {

// high: bucket << offset_bits | destination offset; low: source offset << 32 | relation << 2 | split.
// Ordered by (bucket, destination, source, relation, split); equal edges of different splits lie side by side.
struct EdgeRecord {
    uint64_t high, low;
    bool operator==(const EdgeRecord&) const = default;
    bool operator<(const EdgeRecord& other) const {
        return high != other.high ? high < other.high : low < other.low;
    }
};

struct EdgeLayout {
    uint64_t rows;         // nodes per partition
    uint64_t partitions;
    int offset_bits;       // bits of the largest offset in a partition
};

// Which split an edge falls into: 63 bits of a keyed hash of its ends' ranks, below bounds[0] train, below bounds[1]
// valid, else test. With `undirected` both directions are stored, and fall into the same split.
struct EdgeRules {
    bool by_hash;
    uint64_t key;
    uint64_t bounds[2];
    uint32_t split;        // without by_hash
    bool undirected;
};

uint32_t split_of(uint64_t src, uint64_t rel, uint64_t dst, const EdgeRules& rules);

// Provisional ids to records, two per edge when undirected (one for a self-loop). `node_ids`: the final id of each node;
// `split_rank`: the number it goes by in the hash. Returns the number written.
template <class Spooled, class Id>
size_t pack_edges(const Spooled* src, const uint32_t* rel, const Spooled* dst, size_t count, const Id* node_ids,
                  const Id* split_rank, const uint32_t* relation_rank, const EdgeLayout& layout, const EdgeRules& rules,
                  EdgeRecord* out);

// In place; `scratch` holds as many records. The result does not depend on the number of threads.
void sort_edges(EdgeRecord* records, EdgeRecord* scratch, size_t count, int threads);

// How many leading records of a sorted array are <= key.
size_t count_not_above(const EdgeRecord* records, size_t count, EdgeRecord key);

// What is counted while sorted records pass by. Arrays are the caller's; `nodes` long where not said otherwise.
struct EdgeTally {
    int64_t* bucket_counts;   // (3, partitions^2)
    int64_t* relation_counts; // (relations)
    uint32_t* out_degrees;    // of training edges
    uint32_t* in_degrees;
    uint8_t* seen;            // bit s: has an edge in split s
    int64_t* duplicates;      // (3)
    int64_t* self_loops;      // (3)
    int64_t* also_in_train;   // (3)
};

struct Unpacked {
    size_t counts[3];
};

// Where a stream of sorted records stands: the last one, and whether a training edge equals it.
struct EdgeStream {
    EdgeRecord last;
    uint64_t in_train;
};

// Sorted records to offsets: out is (3 splits, 3 columns src dst rel, stride). `stream` (all ones before the first
// call) is moved on; with `drop_duplicates` equal records are written once.
Unpacked unpack_edges(const EdgeRecord* records, size_t count, const EdgeLayout& layout, bool drop_duplicates,
                      EdgeStream& stream, const EdgeTally& tally, uint32_t* out, size_t stride);

}  // namespace marius
