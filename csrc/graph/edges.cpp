#include "graph/edges.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "graph/hash.h"
#include "graph/parallel.h"

namespace marius {

namespace {

struct Place {
    uint64_t partition, offset;
};

Place place_of(uint64_t id, const EdgeLayout& layout) {
    uint64_t partition = id / layout.rows;
    return {partition, id - partition * layout.rows};
}

EdgeRecord pack(Place src, uint64_t rel, Place dst, uint32_t split, const EdgeLayout& layout) {
    uint64_t bucket = src.partition * layout.partitions + dst.partition;
    return {bucket << layout.offset_bits | dst.offset, src.offset << 32 | rel << 2 | split};
}

}  // namespace

uint32_t split_of(uint64_t src, uint64_t rel, uint64_t dst, const EdgeRules& rules) {
    if (!rules.by_hash) return rules.split;
    if (rules.undirected && dst < src) std::swap(src, dst);
    uint64_t hash = hash_edge(src, rel, dst, rules.key) >> 1;
    return hash < rules.bounds[0] ? 0 : hash < rules.bounds[1] ? 1 : 2;
}

template <class Spooled, class Id>
size_t pack_edges(const Spooled* src, const uint32_t* rel, const Spooled* dst, size_t count, const Id* node_ids,
                  const Id* split_rank, const uint32_t* relation_rank, const EdgeLayout& layout, const EdgeRules& rules,
                  EdgeRecord* out) {
    constexpr size_t kAhead = 16;
    EdgeRecord* end = out;
    for (size_t i = 0; i < count; ++i) {
        if (i + kAhead < count) {
            __builtin_prefetch(node_ids + src[i + kAhead]);
            __builtin_prefetch(node_ids + dst[i + kAhead]);
        }
        uint64_t s = node_ids[src[i]], d = node_ids[dst[i]], r = relation_rank[rel[i]];
        uint32_t split = split_of(split_rank[src[i]], r, split_rank[dst[i]], rules);
        Place from = place_of(s, layout), to = place_of(d, layout);
        *end++ = pack(from, r, to, split, layout);
        if (rules.undirected && s != d) *end++ = pack(to, r, from, split, layout);
    }
    return static_cast<size_t>(end - out);
}

template size_t pack_edges(const uint32_t*, const uint32_t*, const uint32_t*, size_t, const uint32_t*, const uint32_t*, const uint32_t*,
                           const EdgeLayout&, const EdgeRules&, EdgeRecord*);
template size_t pack_edges(const uint32_t*, const uint32_t*, const uint32_t*, size_t, const uint64_t*, const uint64_t*, const uint32_t*,
                           const EdgeLayout&, const EdgeRules&, EdgeRecord*);
template size_t pack_edges(const uint64_t*, const uint32_t*, const uint64_t*, size_t, const uint32_t*, const uint32_t*, const uint32_t*,
                           const EdgeLayout&, const EdgeRules&, EdgeRecord*);
template size_t pack_edges(const uint64_t*, const uint32_t*, const uint64_t*, size_t, const uint64_t*, const uint64_t*, const uint32_t*,
                           const EdgeLayout&, const EdgeRules&, EdgeRecord*);

// One pass by the leading bits that differ makes pieces that mostly fit the cache; each is sorted by comparison.
void sort_edges(EdgeRecord* records, EdgeRecord* scratch, size_t count, int threads) {
    constexpr int kDigit = 12;
    if (count < 2) return;
    auto [least, most] = std::minmax_element(records, records + count,
                                             [](const EdgeRecord& a, const EdgeRecord& b) { return a.high < b.high; });
    const uint64_t base = least->high;
    const int shift = std::max(0, static_cast<int>(std::bit_width(most->high - base)) - kDigit);
    std::vector<size_t> starts((1 << kDigit) + 1, 0);
    for (size_t i = 0; i < count; ++i) ++starts[((records[i].high - base) >> shift) + 1];
    for (size_t d = 0; d < 1 << kDigit; ++d) starts[d + 1] += starts[d];
    std::vector<size_t> next(starts.begin(), starts.end() - 1);
    for (size_t i = 0; i < count; ++i) scratch[next[(records[i].high - base) >> shift]++] = records[i];
    parallel_tasks(1 << kDigit, threads, [&](size_t digit) {
        std::sort(scratch + starts[digit], scratch + starts[digit + 1]);
        std::copy(scratch + starts[digit], scratch + starts[digit + 1], records + starts[digit]);
    });
}

size_t count_not_above(const EdgeRecord* records, size_t count, EdgeRecord key) {
    return static_cast<size_t>(std::upper_bound(records, records + count, key) - records);
}

Unpacked unpack_edges(const EdgeRecord* records, size_t count, const EdgeLayout& layout, bool drop_duplicates,
                      EdgeStream& stream, const EdgeTally& tally, uint32_t* out, size_t stride) {
    Unpacked written{};
    const uint64_t offset_mask = (1ULL << layout.offset_bits) - 1, buckets = layout.partitions * layout.partitions;
    uint64_t bucket = ~0ULL, src_base = 0, dst_base = 0;
    for (size_t i = 0; i < count; ++i) {
        const EdgeRecord record = records[i];
        const uint32_t split = record.low & 3;
        const bool duplicate = record == stream.last;
        const bool same_edge = record.high == stream.last.high && record.low >> 2 == stream.last.low >> 2;
        // The split is the last part of the order: training comes first among equal edges.
        stream.in_train = split == 0 || (same_edge && stream.in_train);
        stream.last = record;
        tally.duplicates[split] += duplicate;
        tally.also_in_train[split] += split && stream.in_train && !duplicate;
        if (duplicate && drop_duplicates) continue;
        if (record.high >> layout.offset_bits != bucket) {
            bucket = record.high >> layout.offset_bits;
            src_base = bucket / layout.partitions * layout.rows;
            dst_base = bucket % layout.partitions * layout.rows;
        }
        const uint64_t src = record.low >> 32, dst = record.high & offset_mask, rel = (record.low & 0xffffffff) >> 2;
        uint32_t* column = out + split * 3 * stride + written.counts[split]++;
        column[0] = static_cast<uint32_t>(src);
        column[stride] = static_cast<uint32_t>(dst);
        column[2 * stride] = static_cast<uint32_t>(rel);
        ++tally.bucket_counts[split * buckets + bucket];
        ++tally.relation_counts[rel];
        tally.self_loops[split] += src_base + src == dst_base + dst;
        tally.out_degrees[src_base + src] += split == 0;
        tally.in_degrees[dst_base + dst] += split == 0;
        tally.seen[src_base + src] |= static_cast<uint8_t>(1u << split);
        tally.seen[dst_base + dst] |= static_cast<uint8_t>(1u << split);
    }
    return written;
}

}  // namespace marius
