// What unpacking counts: duplicates, edges that are in another split too, reverses and inverses of training edges.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "check.h"
#include "graph/edges.h"
#include "packed_edges.h"

using namespace marius;

namespace {

void edges_of_another_split_are_told_from_duplicates() {
    const EdgeLayout layout{10, 1, 1, 0};
    CHECK(layout.words() == 1);
    auto record = [](uint64_t src, uint64_t split) {
        return 3ULL << 7 | src << 3 | split;
    };  // destination, source, no relation, split
    const std::vector<uint64_t> records{record(1, 0), record(1, 0), record(1, 1), record(1, 1), record(1, 2), record(1, 3),
                                        record(1, 4), record(1, 4), record(2, 1), record(2, 2), record(2, 4)};
    Tally tally(layout, 1, 10);
    std::vector<uint32_t> out(9);
    EdgeStream stream;
    for (const auto& one : records) unpack_edges(&one, 1, layout, 10, 1, false, stream, tally.view, out.data(), nullptr, 1);
    CHECK((tally.totals == std::vector<int64_t>{1, 1, 0, 0, 0, 0, 0, 2, 1, 0, 1, 2, 0, 1, 2}));
    CHECK((tally.relations == std::vector<int64_t>{2, 3, 2}));
    CHECK((tally.buckets == std::vector<int64_t>{2, 3, 2}));
    CHECK(tally.seen[1] == 7 && tally.seen[2] == 6 && tally.seen[3] == 7 && tally.out[1] == 2 && tally.in[3] == 2 &&
          tally.out[2] == 0);
}

// Of edges given for a split, those whose reverse is in training, in any direction of the bucket; a loop is no reverse of itself.
void reverses_of_training_edges_are_counted() {
    const EdgeLayout layout{2, 2, 1, 0};
    const std::vector<uint32_t> ids{0, 1, 2, 3}, rel(5, 0), one{0};
    auto pack = [&](const std::vector<uint32_t>& src, const std::vector<uint32_t>& dst, uint32_t split) {
        std::vector<uint64_t> records(2 * src.size());
        const SpooledEdges<uint32_t> edges{src.data(), rel.data(), dst.data(), nullptr,    src.size(),
                                           ids.data(), ids.data(), 4,          one.data(), 1};
        records.resize(pack_edges(edges, layout, {false, 0, {0, 0}, split, false}, records.data(), 1));
        return records;
    };
    std::vector<uint64_t> records = pack({0, 1, 3, 3}, {3, 2, 3, 0}, 0);
    CHECK(records.size() == 4);
    for (uint64_t record : pack({3, 2, 3, 0, 2}, {0, 1, 3, 2, 1}, 2)) records.push_back(record);
    CHECK(records.size() == 4 + 9);
    records = sorted(records, 1);
    for (bool drop : {false, true}) {
        Tally tally(layout, 1, 0);
        std::vector<uint32_t> out(9 * records.size());
        EdgeStream stream;
        const Unpacked written = unpack_edges(records.data(), records.size(), layout, 4, 1, drop, stream, tally.view, out.data(),
                                              nullptr, records.size());
        CHECK(written.counts[0] == 4 && written.counts[1] == 0 && written.counts[2] == (drop ? 4u : 5u));
        CHECK(tally.totals[9 + 2] == (drop ? 2 : 3) && tally.totals[9] == 0 && tally.totals[9 + 1] == 0);
        CHECK(tally.totals[6 + 2] == 2);
        CHECK(tally.totals[12 + 2] == tally.totals[9 + 2]);  // of one relation
    }
}

// Of some reverses the relation is another one: they are neighbours of the training edge, before it or after it.
void inverses_are_counted_in_pieces_of_any_length() {
    for (const EdgeLayout& layout : {EdgeLayout{30, 2, 8, 0}, EdgeLayout{uint64_t{1} << 31, 4, 8, 0}}) {
        const Given<uint64_t> train(layout, layout.partitions * layout.rows, 8, 500);
        Given<uint64_t> asked = train;
        std::swap(asked.src, asked.dst);
        for (size_t i = 0; i < asked.rel.size(); ++i)
            asked.rel[i] = static_cast<uint32_t>((asked.rel[i] + i) % asked.relation_ids.size());
        std::vector<uint64_t> records = packed(train, layout, {false, 0, {0, 0}, 0, false});
        const std::vector<uint64_t> more = packed(asked, layout, {false, 0, {0, 0}, 2, false});
        records.insert(records.end(), more.begin(), more.end());
        records = sorted(records, layout.words());
        const size_t count = records.size() / layout.words();
        auto totals = [&](size_t step) {
            Tally tally(layout, 8, 0);
            EdgeStream stream;
            std::vector<uint32_t> out(9 * step);
            for (size_t at = 0; at < count; at += step)
                unpack_edges(records.data() + layout.words() * at, std::min(step, count - at), layout,
                             layout.partitions * layout.rows, 8, false, stream, tally.view, out.data(), nullptr, step);
            return tally.totals;
        };
        const std::vector<int64_t> found = totals(count);
        CHECK(found == totals(1) && found == totals(7));
        int64_t joined = 0;  // asked[i] leads where train[i] came from
        for (size_t i = 0; i < asked.src.size(); ++i) joined += asked.src[i] != asked.dst[i];
        CHECK(found[12 + 2] == joined && found[9 + 2] > 0 && found[9 + 2] < joined);
    }
}

// Counters run past 32 bits where there are that many edges.
void counts_go_beyond_32_bits() {
    const EdgeLayout layout{1, 1, 1, 0};
    Tally tally(layout, 1, 0);
    for (auto* counts : {&tally.buckets, &tally.relations, &tally.totals})
        std::fill(counts->begin(), counts->end(), int64_t{kWord} - 1);
    std::vector<uint32_t> out(18);
    EdgeStream stream;
    const uint64_t records[2] = {0, 0};
    unpack_edges(records, 2, layout, 1, 1, false, stream, tally.view, out.data(), nullptr, 2);
    CHECK(tally.buckets[0] == int64_t{kWord} + 1 && tally.relations[0] == int64_t{kWord} + 1);
    CHECK(tally.totals[0] == int64_t{kWord} && tally.totals[3] == int64_t{kWord} + 1);
}

}  // namespace

int main() {
    edges_of_another_split_are_told_from_duplicates();
    reverses_of_training_edges_are_counted();
    inverses_are_counted_in_pieces_of_any_length();
    counts_go_beyond_32_bits();
}
