// Packed edges: the sort is the plain order, and unpacking gives back what was packed.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "check.h"
#include "graph/edges.h"

using namespace marius;

namespace {

void sorts_like_std_sort() {
    std::mt19937_64 rng(3);
    for (uint64_t range : {1ULL, 50ULL, 1ULL << 20, ~0ULL})
        for (size_t count : {0, 1, 2, 1000, 50'000}) {
            std::vector<EdgeRecord> records(count), scratch(count);
            for (auto& record : records) record = {range == ~0ULL ? rng() : rng() % range, rng() % 9};
            auto expected = records;
            std::sort(expected.begin(), expected.end());
            sort_edges(records.data(), scratch.data(), count, 3);
            CHECK(records == expected);
            if (count) {
                EdgeRecord key = records[count / 2];
                size_t below = count_not_above(records.data(), count, key);
                CHECK(below > count / 2 && records[below - 1] == key);
                CHECK(below == count || key < records[below]);
            }
        }
}

using Edge = std::tuple<uint64_t, uint64_t, uint64_t>;

void unpacks_what_was_packed(bool undirected, bool by_hash, bool drop) {
    constexpr uint64_t nodes = 103, rows = 21, partitions = 5;
    std::mt19937_64 rng(4);
    std::vector<uint32_t> src(4000), dst(4000), rel(4000), rank(nodes), relation_rank{2, 0, 1};
    for (size_t i = 0; i < nodes; ++i) rank[i] = static_cast<uint32_t>(i * 10 % nodes);
    for (size_t i = 0; i < src.size(); ++i) {
        src[i] = rng() % nodes, dst[i] = rng() % nodes, rel[i] = rng() % 3;
        if (i % 10 == 9) src[i] = src[i - 1], dst[i] = dst[i - 1], rel[i] = rel[i - 1];
    }
    EdgeLayout layout{rows, partitions, 5};
    EdgeRules rules{by_hash, 99, {1ULL << 62, 3ULL << 61}, 0, undirected};
    std::vector<EdgeRecord> records(2 * src.size()), scratch(records.size());
    size_t count = pack_edges(src.data(), rel.data(), dst.data(), src.size(), rank.data(), rank.data(), relation_rank.data(), layout,
                              rules, records.data());
    sort_edges(records.data(), scratch.data(), count, 2);

    std::multiset<Edge> expected;
    for (size_t i = 0; i < src.size(); ++i) {
        uint64_t s = rank[src[i]], d = rank[dst[i]], r = relation_rank[rel[i]];
        expected.insert({s, r, d});
        if (undirected && s != d) expected.insert({d, r, s});
    }
    std::vector<int64_t> counts(3 * partitions * partitions), relation_counts(3), totals(9);
    std::vector<uint32_t> out_degrees(nodes), in_degrees(nodes), out(9 * count);
    std::vector<uint8_t> seen(nodes);
    EdgeTally tally{counts.data(), relation_counts.data(), out_degrees.data(), in_degrees.data(), seen.data(),
                    totals.data(), totals.data() + 3, totals.data() + 6};
    EdgeStream stream{{~0ULL, ~0ULL}, 0};
    std::multiset<Edge> found;
    std::map<Edge, std::set<int>> splits;
    std::vector<int64_t> passed(3 * partitions * partitions);
    for (size_t at = 0; at < count; at += 100) {
        auto before = counts;
        size_t n = std::min<size_t>(100, count - at);
        Unpacked written = unpack_edges(records.data() + at, n, layout, drop, stream, tally, out.data(), n);
        for (int split = 0; split < 3; ++split) {
            size_t place = 0;
            for (uint64_t bucket = 0; bucket < partitions * partitions; ++bucket)
                for (int64_t k = before[split * 25 + bucket]; k < counts[split * 25 + bucket]; ++k, ++place) {
                    const uint32_t* column = out.data() + split * 3 * n + place;
                    CHECK(column[0] < rows && column[n] < rows);
                    Edge edge{bucket / partitions * rows + column[0], column[2 * n], bucket % partitions * rows + column[n]};
                    found.insert(edge);
                    splits[edge].insert(split);
                }
            CHECK(place == written.counts[split]);
        }
    }
    std::set<Edge> distinct(expected.begin(), expected.end());
    CHECK(drop ? found == std::multiset<Edge>(distinct.begin(), distinct.end()) : found == expected);
    CHECK(static_cast<size_t>(totals[0] + totals[1] + totals[2]) == expected.size() - distinct.size());
    for (const auto& [edge, in] : splits) CHECK(in.size() == 1 && (by_hash || in.contains(0)));
    if (undirected)
        for (const auto& [edge, in] : splits)
            CHECK(splits.at({std::get<2>(edge), std::get<1>(edge), std::get<0>(edge)}) == in);
    CHECK(totals[6] + totals[7] + totals[8] == 0);
}

void edges_of_another_split_are_told_from_duplicates() {
    EdgeLayout layout{10, 1, 4};
    auto record = [](uint64_t src, uint64_t split) { return EdgeRecord{3, src << 32 | split}; };
    std::vector<EdgeRecord> records{record(1, 0), record(1, 0), record(1, 1), record(1, 1), record(1, 2), record(2, 1), record(2, 2)};
    std::vector<int64_t> counts(3), relations(1), totals(9);
    std::vector<uint32_t> degrees(20), out(9 * records.size());
    std::vector<uint8_t> seen(10);
    EdgeTally tally{counts.data(), relations.data(), degrees.data(), degrees.data() + 10, seen.data(),
                    totals.data(), totals.data() + 3, totals.data() + 6};
    EdgeStream stream{{~0ULL, ~0ULL}, 0};
    for (const auto& one : records) unpack_edges(&one, 1, layout, false, stream, tally, out.data(), 1);
    CHECK((totals == std::vector<int64_t>{1, 1, 0, 0, 0, 0, 0, 1, 1}));
    CHECK((counts == std::vector<int64_t>{2, 3, 2}));
    CHECK(seen[1] == 7 && seen[2] == 6 && seen[3] == 7 && degrees[1] == 2 && degrees[13] == 2 && degrees[2] == 0);
}

}  // namespace

int main() {
    sorts_like_std_sort();
    for (bool undirected : {false, true})
        for (bool by_hash : {false, true})
            for (bool drop : {false, true}) unpacks_what_was_packed(undirected, by_hash, drop);
    edges_of_another_split_are_told_from_duplicates();
}
