// Edges stored in one layout, packed for another: the same edges of global ids, for any pieces and threads; wrong ones are refused.
#include <algorithm>
#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "check.h"
#include "graph/edges.h"

using namespace marius;

namespace {

constexpr uint64_t kNodes = 103, kRelations = 3;

struct Stored {
    uint64_t rows, partitions;
    std::vector<uint32_t> src, dst, rel;
    std::vector<uint64_t> carried;
    std::vector<int64_t> offsets;
    StoredEdges from(size_t first, size_t count) const {
        return {src.data() + first,
                dst.data() + first,
                rel.data() + first,
                carried.data() + first,
                count,
                first,
                offsets.data(),
                rows,
                partitions};
    }
};

Stored random_edges(uint64_t rows, size_t count) {
    Stored edges{rows, (kNodes + rows - 1) / rows, {}, {}, {}, {}, {0}};
    std::mt19937_64 rng(7);
    std::vector<std::tuple<uint64_t, uint64_t, uint64_t>> all(count);
    for (auto& [bucket, src, dst] : all) {
        src = rng() % kNodes, dst = rng() % kNodes;
        bucket = src / rows * edges.partitions + dst / rows;
    }
    std::sort(all.begin(), all.end());
    for (auto [bucket, src, dst] : all) {
        while (edges.offsets.size() <= bucket) edges.offsets.push_back(static_cast<int64_t>(edges.src.size()));
        edges.src.push_back(src % rows), edges.dst.push_back(dst % rows);
        edges.rel.push_back(rng() % kRelations), edges.carried.push_back(rng() % 5);
    }
    edges.offsets.resize(edges.partitions * edges.partitions + 1, static_cast<int64_t>(count));
    return edges;
}

std::vector<uint64_t> packed(const Stored& edges, const EdgeLayout& layout, size_t step, int threads) {
    std::vector<uint64_t> records(edges.src.size() * layout.words());
    for (size_t first = 0; first < edges.src.size(); first += step)
        pack_stored(edges.from(first, std::min(step, edges.src.size() - first)), layout, kNodes, kRelations, 2,
                    records.data() + first * layout.words(), threads);
    return records;
}

void packs_the_same_edges(uint64_t rows, uint64_t relations_of_layout) {
    const Stored edges = random_edges(13, 100'000);
    const EdgeLayout layout{rows, (kNodes + rows - 1) / rows, relations_of_layout, 1};
    const std::vector<uint64_t> records = packed(edges, layout, edges.src.size(), 3);
    CHECK(records == packed(edges, layout, 997, 1));
    std::vector<int64_t> counts(3 * layout.partitions * layout.partitions), relations(3 * kRelations), totals(15);
    EdgeTally<uint32_t> tally{counts.data(), relations.data(),  nullptr,           nullptr,           nullptr,
                              totals.data(), totals.data() + 3, totals.data() + 6, totals.data() + 9, totals.data() + 12};
    size_t bucket = 0;
    for (size_t i = 0; i < edges.src.size(); ++i) {
        const uint64_t* record = records.data() + i * layout.words();
        EdgeStream stream;
        uint32_t out[9];
        uint64_t carried[3];
        CHECK(unpack_edges(record, 1, layout, kNodes, kRelations, false, stream, tally, out, carried, 1).counts[2] == 1);
        while (edges.offsets[bucket + 1] <= static_cast<int64_t>(i)) ++bucket;
        const uint64_t flat = bucket_of(record, layout);
        CHECK(flat / layout.partitions * rows + out[6] == bucket / edges.partitions * edges.rows + edges.src[i]);
        CHECK(flat % layout.partitions * rows + out[7] == bucket % edges.partitions * edges.rows + edges.dst[i]);
        CHECK(out[8] == edges.rel[i] && carried[2] == edges.carried[i]);
    }
}

void refuses_what_lies_nowhere() {
    const EdgeLayout layout{50, 3, kRelations, 1};
    auto refused = [&](auto damage) {
        Stored edges = random_edges(13, 1000);
        damage(edges);
        CHECK_THROWS(packed(edges, layout, 1000, 1), std::invalid_argument);
    };
    refused([](Stored& e) { e.src[500] = 13; });
    refused([](Stored& e) { e.dst.back() = 12; });  // the last partition has 12 nodes
    refused([](Stored& e) { e.rel[0] = kRelations; });
    refused([](Stored& e) { e.offsets.back() -= 1; });
    refused([](Stored& e) { std::swap(e.offsets[3], e.offsets[9]); });
}

}  // namespace

int main() {
    for (uint64_t rows : {1, 7, 26, 103}) packs_the_same_edges(rows, kRelations);
    packs_the_same_edges(1 << 20, 1ULL << 32);  // a key of two words
    refuses_what_lies_nowhere();
}
