#include "graph/edges.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <vector>

#include "base/parallel.h"
#include "graph/hash.h"

namespace marius {

namespace {

using Wide = unsigned __int128;
constexpr int kSplitBits = 3;
constexpr uint64_t kReverse = 2;  // added to a split: the reverse of one of its edges, which is counted, not written
constexpr int64_t kGrain = 1 << 15;

struct Edge {
    uint64_t src_partition, src, dst_partition, dst, rel, split;
};

// The key of an edge, as a number of 64 or 128 bits.
template <class Key>
Key key_of(const Edge& e, const EdgeLayout& l) {
    Key key = e.src_partition;
    key = key << l.partition_bits | e.dst_partition;
    key = key << l.offset_bits | e.dst;
    key = key << l.offset_bits | e.src;
    key = key << l.relation_bits | e.rel;
    return key << kSplitBits | e.split;
}

template <class Key>
Edge edge_of(Key key, const EdgeLayout& l) {
    auto take = [&key](int bits) {
        const uint64_t field = static_cast<uint64_t>(key) & ((1ULL << bits) - 1);
        key >>= bits;
        return field;
    };
    Edge e;
    e.split = take(kSplitBits), e.rel = take(l.relation_bits), e.src = take(l.offset_bits), e.dst = take(l.offset_bits);
    e.dst_partition = take(l.partition_bits), e.src_partition = static_cast<uint64_t>(key);
    return e;
}

void store(uint64_t key, uint64_t* record) { record[0] = key; }
void store(Wide key, uint64_t* record) { record[0] = static_cast<uint64_t>(key >> 64), record[1] = static_cast<uint64_t>(key); }

template <class Key>
Key load(const uint64_t* record) {
    if constexpr (sizeof(Key) == 8) return record[0];
    else return static_cast<Key>(record[0]) << 64 | record[1];
}

struct Place {
    uint64_t partition, offset;
};

Place place_of(uint64_t id, const EdgeLayout& layout) {
    uint64_t partition = id / layout.rows;
    return {partition, id - partition * layout.rows};
}

template <class Key, class Id>
uint64_t* pack_one(const SpooledEdges<Id>& edges, size_t i, const EdgeLayout& layout, const EdgeRules& rules, uint64_t* out) {
    const uint64_t s = edges.node_ids[edges.src[i]], d = edges.node_ids[edges.dst[i]], r = edges.relation_ids[edges.rel[i]];
    const uint32_t split =
        rules.by_hash ? split_of(edges.split_ids[edges.src[i]], r, edges.split_ids[edges.dst[i]], rules) : rules.split;
    const Place from = place_of(s, layout), to = place_of(d, layout);
    auto put = [&](Place a, Place b, uint64_t code) {
        store(key_of<Key>({a.partition, a.offset, b.partition, b.offset, r, code}, layout), out);
        std::copy_n(edges.carried + i * layout.carried, layout.carried, out + layout.key_words);
        out += layout.words();
    };
    put(from, to, split);
    if (both_ways(rules) && s != d) put(to, from, rules.undirected ? split : split + kReverse);
    return out;
}

// Returns how many records come before each group of kGrain edges.
template <class Id>
std::vector<size_t> places(const SpooledEdges<Id>& edges, bool both, int threads) {
    const size_t groups = (edges.count + kGrain - 1) / kGrain;
    std::vector<size_t> before(groups + 1, 0);
    parallel_for(static_cast<int64_t>(groups), 1, threads, [&](int64_t first, int64_t last) {
        for (int64_t p = first; p < last; ++p) {
            const size_t end = std::min(edges.count, static_cast<size_t>(p + 1) * kGrain);
            size_t records = 0;
            for (size_t i = static_cast<size_t>(p) * kGrain; i < end; ++i)
                records += both && edges.src[i] != edges.dst[i] ? 2 : 1;
            before[p + 1] = records;
        }
    });
    for (size_t p = 0; p < groups; ++p) before[p + 1] += before[p];
    return before;
}

template <class Key, class Id>
void pack_piece(const SpooledEdges<Id>& edges, size_t first, size_t last, const EdgeLayout& layout, const EdgeRules& rules,
                uint64_t* out) {
    constexpr size_t kAhead = 16;
    for (size_t i = first; i < last; ++i) {
        if (i + kAhead < last) {
            __builtin_prefetch(edges.node_ids + edges.src[i + kAhead]);
            __builtin_prefetch(edges.node_ids + edges.dst[i + kAhead]);
        }
        out = pack_one<Key>(edges, i, layout, rules, out);
    }
}

template <class Id>
bool in_range(const SpooledEdges<Id>& edges, size_t first, size_t last) {
    bool inside = true;
    for (size_t i = first; i < last; ++i)
        inside &= (edges.src[i] < edges.nodes) & (edges.dst[i] < edges.nodes) & (edges.rel[i] < edges.relations);
    return inside;
}

template <class Key>
bool pack_stored_piece(const StoredEdges& edges, size_t first, size_t last, const EdgeLayout& layout, uint64_t nodes,
                       uint64_t relations, uint32_t split, uint64_t* out) {
    const int64_t *begin = edges.bucket_offsets, *end = begin + edges.partitions * edges.partitions;
    auto place = [&](size_t i) { return static_cast<int64_t>(edges.first + i); };
    uint64_t bucket = static_cast<uint64_t>(std::upper_bound(begin, end, place(first)) - begin) - 1;
    for (size_t i = first; i < last; ++i, out += layout.words()) {
        while (place(i) >= begin[bucket + 1]) ++bucket;
        const uint64_t src = bucket / edges.partitions * edges.rows + edges.src[i];
        const uint64_t dst = bucket % edges.partitions * edges.rows + edges.dst[i];
        if (edges.src[i] >= edges.rows || edges.dst[i] >= edges.rows || src >= nodes || dst >= nodes || edges.rel[i] >= relations)
            return false;
        const Place from = place_of(src, layout), to = place_of(dst, layout);
        store(key_of<Key>({from.partition, from.offset, to.partition, to.offset, edges.rel[i], split}, layout), out);
        std::copy_n(edges.carried + i * layout.carried, layout.carried, out + layout.key_words);
    }
    return true;
}

// Counts reverses of valid and test edges whose ends a training edge has too. All records with the same ends are neighbours.
template <class Count>
void count_inverse(uint64_t split, bool same_ends, bool dropped, EdgeStream& stream, const EdgeTally<Count>& tally) {
    if (!same_ends) stream.joined = 0, stream.waiting[0] = stream.waiting[1] = 0;
    if (split == 0 && !stream.joined) {
        stream.joined = 1;
        for (int i = 0; i < 2; ++i) tally.inverse_in_train[1 + i] += stream.waiting[i];
    }
    if (split > 2 && !dropped)
        ++(stream.joined ? tally.inverse_in_train[split - kReverse] : stream.waiting[split - kReverse - 1]);
}

template <class Key, class Count>
Unpacked unpack(const uint64_t* records, size_t count, const EdgeLayout& layout, uint64_t nodes, uint64_t relations,
                bool drop_duplicates, EdgeStream& stream, const EdgeTally<Count>& tally, uint32_t* out, uint64_t* carried_out,
                size_t stride) {
    Unpacked written{};
    const uint64_t buckets = layout.partitions * layout.partitions;
    const int words = layout.words();
    Key last = (stream.split != kNoSplit) ? load<Key>(stream.key) : static_cast<Key>(0);
    for (size_t i = 0; i < count; ++i, records += words) {
        const Key key = load<Key>(records);
        const Edge e = edge_of(key, layout);
        const uint64_t src_id = e.src_partition * layout.rows + e.src, dst_id = e.dst_partition * layout.rows + e.dst;
        if (e.split > 2 + kReverse || e.rel >= relations || e.src_partition >= layout.partitions ||
            e.dst_partition >= layout.partitions || e.src >= layout.rows || e.dst >= layout.rows || src_id >= nodes ||
            dst_id >= nodes)
            throw std::invalid_argument("a record lies in no partition");
        const Key edge = key >> kSplitBits;
        const bool same_edge = stream.split != kNoSplit && edge == last;
        const bool same_ends = stream.split != kNoSplit && edge >> layout.relation_bits == last >> layout.relation_bits;
        const bool duplicate = same_edge && e.split == stream.split;
        // The split is the last part of the key: training comes first among equal edges.
        stream.in_train = e.split == 0 || (same_edge && stream.in_train);
        last = edge, stream.split = e.split;
        const bool dropped = duplicate && drop_duplicates;
        count_inverse(e.split, same_ends, dropped, stream, tally);
        if (e.split > 2) {
            tally.reverse_in_train[e.split - kReverse] += stream.in_train && !dropped;
            continue;
        }
        tally.duplicates[e.split] += duplicate;
        tally.also_in_train[e.split] += e.split && stream.in_train && !dropped;
        if (dropped) continue;
        const size_t place = written.counts[e.split]++;
        uint32_t* column = out + e.split * 3 * stride + place;
        column[0] = static_cast<uint32_t>(e.src);
        column[stride] = static_cast<uint32_t>(e.dst);
        column[2 * stride] = static_cast<uint32_t>(e.rel);
        std::copy_n(records + layout.key_words, layout.carried, carried_out + (e.split * stride + place) * layout.carried);
        ++tally.bucket_counts[e.split * buckets + e.src_partition * layout.partitions + e.dst_partition];
        ++tally.relation_counts[e.split * relations + e.rel];
        tally.self_loops[e.split] += src_id == dst_id;
        if (tally.splits == nullptr) continue;
        tally.out_degrees[src_id] += e.split == 0;
        tally.in_degrees[dst_id] += e.split == 0;
        tally.splits[src_id] |= static_cast<uint8_t>(1u << e.split);
        tally.splits[dst_id] |= static_cast<uint8_t>(1u << e.split);
    }
    if (count) store(last, stream.key);
    return written;
}

}  // namespace

EdgeLayout::EdgeLayout(uint64_t rows_, uint64_t partitions_, uint64_t relations, int carried_)
    : rows(rows_), partitions(partitions_), carried(carried_) {
    if (!rows || rows - 1 > UINT32_MAX || !partitions || partitions > 1 << 16 || relations > 1ULL << 32 || carried < 0 ||
        carried > 2)
        throw std::invalid_argument("edge layout: rows, partitions or relations out of range");
    auto bits = [](uint64_t count) { return count ? std::bit_width(count - 1) : 0; };
    partition_bits = bits(partitions), offset_bits = bits(rows), relation_bits = bits(relations);
    const int all_bits = 2 * (partition_bits + offset_bits) + relation_bits + kSplitBits;
    if (all_bits > 128) throw std::invalid_argument("edge layout: an edge does not fit 128 bits");
    key_words = all_bits <= 64 ? 1 : 2;
}

uint32_t split_of(uint64_t src, uint64_t rel, uint64_t dst, const EdgeRules& rules) {
    if (!rules.by_hash) return rules.split;
    if (dst < src) std::swap(src, dst);
    uint64_t hash = hash_edge(src, rel, dst, rules.key) >> 1;
    return hash < rules.bounds[0] ? 0 : hash < rules.bounds[1] ? 1 : 2;
}

template <class Id>
size_t pack_edges(const SpooledEdges<Id>& edges, const EdgeLayout& layout, const EdgeRules& rules, uint64_t* out, int threads) {
    const std::vector<size_t> before = places(edges, both_ways(rules), threads);
    std::vector<uint8_t> sound(before.size() - 1, 1);
    parallel_for(static_cast<int64_t>(sound.size()), 1, threads, [&](int64_t from, int64_t to) {
        for (int64_t p = from; p < to; ++p) {
            const size_t first = static_cast<size_t>(p) * kGrain, last = std::min(edges.count, first + kGrain);
            sound[p] = in_range(edges, first, last);
            if (!sound[p]) continue;
            uint64_t* place = out + before[p] * layout.words();
            if (layout.key_words == 1) pack_piece<uint64_t>(edges, first, last, layout, rules, place);
            else pack_piece<Wide>(edges, first, last, layout, rules, place);
        }
    });
    if (std::find(sound.begin(), sound.end(), 0) != sound.end()) throw std::invalid_argument("a spooled id is out of range");
    return before.back();
}

template size_t pack_edges(const SpooledEdges<uint32_t>&, const EdgeLayout&, const EdgeRules&, uint64_t*, int);
template size_t pack_edges(const SpooledEdges<uint64_t>&, const EdgeLayout&, const EdgeRules&, uint64_t*, int);

void pack_stored(const StoredEdges& edges, const EdgeLayout& layout, uint64_t nodes, uint64_t relations, uint32_t split,
                 uint64_t* out, int threads) {
    const int64_t* offsets = edges.bucket_offsets;
    const uint64_t buckets = edges.partitions * edges.partitions;
    bool sound = offsets[0] == 0 && std::is_sorted(offsets, offsets + buckets + 1) &&
                 edges.first + edges.count <= static_cast<uint64_t>(offsets[buckets]) && layout.rows * layout.partitions >= nodes;
    std::vector<uint8_t> done((edges.count + kGrain - 1) / kGrain, 1);
    if (sound)
        parallel_for(static_cast<int64_t>(done.size()), 1, threads, [&](int64_t from, int64_t to) {
            const auto pack = layout.key_words == 1 ? pack_stored_piece<uint64_t> : pack_stored_piece<Wide>;
            for (int64_t p = from; p < to; ++p) {
                const size_t first = static_cast<size_t>(p) * kGrain, last = std::min<size_t>(edges.count, first + kGrain);
                done[p] = pack(edges, first, last, layout, nodes, relations, split, out + first * layout.words());
            }
        });
    if (!sound || std::find(done.begin(), done.end(), 0) != done.end())
        throw std::invalid_argument("a stored edge lies in no bucket");
}

uint64_t bucket_of(const uint64_t* record, const EdgeLayout& layout) {
    const Edge e = layout.key_words == 1 ? edge_of(load<uint64_t>(record), layout) : edge_of(load<Wide>(record), layout);
    return e.src_partition * layout.partitions + e.dst_partition;
}

template <class Count>
Unpacked unpack_edges(const uint64_t* records, size_t count, const EdgeLayout& layout, uint64_t nodes, uint64_t relations,
                      bool drop_duplicates, EdgeStream& stream, const EdgeTally<Count>& tally, uint32_t* out,
                      uint64_t* carried_out, size_t stride) {
    const auto with = layout.key_words == 1 ? unpack<uint64_t, Count> : unpack<Wide, Count>;
    return with(records, count, layout, nodes, relations, drop_duplicates, stream, tally, out, carried_out, stride);
}

template Unpacked unpack_edges(const uint64_t*, size_t, const EdgeLayout&, uint64_t, uint64_t, bool, EdgeStream&,
                               const EdgeTally<uint32_t>&, uint32_t*, uint64_t*, size_t);
template Unpacked unpack_edges(const uint64_t*, size_t, const EdgeLayout&, uint64_t, uint64_t, bool, EdgeStream&,
                               const EdgeTally<uint64_t>&, uint32_t*, uint64_t*, size_t);

}  // namespace marius
