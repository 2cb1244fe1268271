// Edges for tests of packing: made at random, packed, sorted, and the counters that unpacking adds to.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "check.h"
#include "graph/edges.h"

namespace marius {

constexpr uint64_t kWord = 1ULL << 32;

inline std::vector<uint64_t> sorted(const std::vector<uint64_t>& records, int words) {
    auto sort = [&]<int W>() {
        std::vector<Record<W>> whole(records.size() / W);
        for (size_t i = 0; i < records.size(); ++i) whole[i / W].word[i % W] = records[i];
        sort_records(whole.data(), whole.size(), 2);
        std::vector<uint64_t> flat;
        for (const auto& record : whole) flat.insert(flat.end(), record.word, record.word + W);
        return flat;
    };
    return words == 1   ? sort.operator()<1>()
           : words == 2 ? sort.operator()<2>()
           : words == 3 ? sort.operator()<3>()
                        : sort.operator()<4>();
}

struct Tally {
    std::vector<int64_t> buckets, relations, totals = std::vector<int64_t>(15);
    std::vector<uint32_t> out, in;
    std::vector<uint8_t> seen;
    EdgeTally<uint32_t> view;

    Tally(const EdgeLayout& layout, size_t relation_count, size_t nodes)
        : buckets(3 * layout.partitions * layout.partitions), relations(3 * relation_count), out(nodes), in(nodes), seen(nodes),
          view{buckets.data(),
               relations.data(),
               nodes ? out.data() : nullptr,
               nodes ? in.data() : nullptr,
               nodes ? seen.data() : nullptr,
               totals.data(),
               totals.data() + 3,
               totals.data() + 6,
               totals.data() + 9,
               totals.data() + 12} {}
};

// Edges with ends near the corners of the layout, relations and split too; every tenth stands twice.
template <class Id>
struct Given {
    std::vector<uint32_t> src, dst, rel, relation_ids;
    std::vector<Id> ids;
    std::vector<uint64_t> carried;

    Given(const EdgeLayout& layout, uint64_t nodes, uint64_t relations, size_t count) {
        std::mt19937_64 rng(4);
        auto near_corner = [&](uint64_t limit) {
            return static_cast<uint64_t>(rng() % 3 ? rng() % limit : rng() % 2 ? limit - 1 : 0);
        };
        auto distinct = [&](uint64_t wanted, uint64_t limit) {
            std::set<uint64_t> found;
            while (found.size() < std::min(wanted, limit)) found.insert(near_corner(limit));
            return found;
        };
        for (uint64_t id : distinct(103, nodes)) ids.push_back(static_cast<Id>(id));
        for (uint64_t id : distinct(7, relations)) relation_ids.push_back(static_cast<uint32_t>(id));
        std::shuffle(ids.begin(), ids.end(), rng);
        std::shuffle(relation_ids.begin(), relation_ids.end(), rng);
        for (size_t i = 0; i < count; ++i) {
            const bool again = i % 10 == 9;
            src.push_back(again ? src[i - 1] : static_cast<uint32_t>(rng() % ids.size()));
            dst.push_back(again ? dst[i - 1] : static_cast<uint32_t>(rng() % ids.size()));
            rel.push_back(again ? rel[i - 1] : static_cast<uint32_t>(rng() % relation_ids.size()));
            for (int w = 0; w < layout.carried; ++w) carried.push_back(rng() | (i << 1));
        }
    }
    SpooledEdges<Id> view() const {
        return {src.data(),          rel.data(),         dst.data(), carried.empty() ? nullptr : carried.data(),
                src.size(),          ids.data(),         ids.data(), ids.size(),
                relation_ids.data(), relation_ids.size()};
    }
};

template <class Id>
std::vector<uint64_t> packed(const Given<Id>& given, const EdgeLayout& layout, const EdgeRules& rules) {
    std::vector<uint64_t> records(2 * given.src.size() * static_cast<size_t>(layout.words())), again = records;
    const size_t count = pack_edges(given.view(), layout, rules, records.data(), 1);
    CHECK(pack_edges(given.view(), layout, rules, again.data(), 3) == count);
    CHECK(records == again);
    records.resize(count * static_cast<size_t>(layout.words()));
    return records;
}

}  // namespace marius
