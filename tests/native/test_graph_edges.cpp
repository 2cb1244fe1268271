// Packed edges: records in plain order are edges in the dataset's order, and unpacking gives back what was packed.
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "check.h"
#include "graph/edges.h"
#include "packed_edges.h"

using namespace marius;

namespace {

using Edge = std::tuple<uint64_t, uint64_t, uint64_t>;  // src, rel, dst
// Counters of which most are never touched, and take no memory.
struct Zeros {
    explicit Zeros(size_t bytes_)
        : bytes(bytes_), data(static_cast<int64_t*>(
                             mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
        CHECK(static_cast<void*>(data) != MAP_FAILED);
    }
    ~Zeros() { munmap(data, bytes); }
    size_t bytes;
    int64_t* data;
};

// rows, partitions and relations decide whether a key has one word or two.
template <class Id>
void unpacks_what_was_packed(uint64_t rows, uint64_t partitions, uint64_t nodes, uint64_t relations, int carried, bool undirected,
                             bool by_hash, bool drop, size_t edges = 33'000) {  // packed in several pieces
    const EdgeLayout layout{rows, partitions, relations, carried};
    const Given<Id> given(layout, nodes, relations, edges);
    const EdgeRules rules{by_hash, 99, {1ULL << 62, 3ULL << 61}, 0, undirected};
    const int words = layout.words();
    const std::vector<uint64_t> records = sorted(packed(given, layout, rules), words);
    const size_t count = records.size() / static_cast<size_t>(words);

    using Held = std::tuple<Edge, uint64_t, uint64_t>;
    std::multiset<Held> expected;
    for (size_t i = 0; i < given.src.size(); ++i) {
        const uint64_t s = given.ids[given.src[i]], d = given.ids[given.dst[i]], r = given.relation_ids[given.rel[i]];
        auto word = [&](int w) {
            return carried > w ? given.carried[i * static_cast<size_t>(carried) + static_cast<size_t>(w)] : 0;
        };
        expected.insert({{s, r, d}, word(0), word(1)});
        if (undirected && given.src[i] != given.dst[i] && s != d) expected.insert({{d, r, s}, word(0), word(1)});
    }
    Tally tally(layout, 0, 0);
    const Zeros relation_counts(3 * relations * sizeof(int64_t));
    tally.view.relation_counts = relation_counts.data;
    EdgeStream stream;
    std::multiset<Held> found;
    std::map<Edge, std::set<int>> splits;
    std::vector<uint32_t> out(9 * 100);
    std::vector<uint64_t> beside(3 * 100 * static_cast<size_t>(carried) + 1);
    std::tuple<uint64_t, uint64_t, uint64_t, uint64_t> last{};
    for (size_t at = 0; at < count; at += 100) {
        const size_t n = std::min<size_t>(100, count - at);
        for (size_t i = at; i < at + n; ++i) {  // one by one, to know each record's bucket
            const uint64_t* record = records.data() + i * static_cast<size_t>(words);
            const uint64_t bucket = bucket_of(record, layout);
            const Unpacked written =
                unpack_edges(record, 1, layout, nodes, relations, drop, stream, tally.view, out.data(), beside.data(), 100);
            for (size_t split = 0; split < 3; ++split) {
                if (!written.counts[split]) continue;
                const uint32_t* column = out.data() + split * 300;
                const uint64_t* words_beside = beside.data() + split * 100 * static_cast<size_t>(carried);
                CHECK(written.counts[split] == 1 && column[0] < rows && column[100] < rows);
                const Edge edge{bucket / partitions * rows + column[0], column[200], bucket % partitions * rows + column[100]};
                found.insert({edge, carried > 0 ? words_beside[0] : 0, carried > 1 ? words_beside[1] : 0});
                splits[edge].insert(static_cast<int>(split));
                const std::tuple place{bucket, uint64_t{column[100]}, uint64_t{column[0]}, uint64_t{column[200]}};
                CHECK(place >= last);
                last = place;
            }
        }
    }
    std::set<Edge> distinct, left;
    for (const auto& [edge, a, b] : expected) distinct.insert(edge);
    for (const auto& [edge, a, b] : found) left.insert(edge);
    if (drop)
        CHECK(left == distinct && found.size() == distinct.size() &&
              std::includes(expected.begin(), expected.end(), found.begin(), found.end()));
    else CHECK(found == expected);
    const auto& totals = tally.totals;
    CHECK(static_cast<size_t>(totals[0] + totals[1] + totals[2]) == expected.size() - distinct.size());
    for (const auto& [edge, in] : splits) CHECK(in.size() == 1 && (by_hash || in.contains(0)));
    for (const auto& [edge, in] : splits) {
        const auto reverse = splits.find({std::get<2>(edge), std::get<1>(edge), std::get<0>(edge)});
        CHECK(reverse == splits.end() ? !undirected : reverse->second == in);
    }
    CHECK(std::all_of(totals.begin() + 6, totals.end(), [](int64_t count) { return count == 0; }));
    CHECK(std::accumulate(tally.buckets.begin(), tally.buckets.end(), int64_t{0}) == static_cast<int64_t>(found.size()));
}

// A piece ends anywhere, also between equal edges: the stream remembers.
void pieces_of_any_length_give_the_same() {
    const EdgeLayout layout{uint64_t{1} << 31, 4, 1 << 20, 1};
    CHECK(layout.key_words == 2 && layout.words() == 3);
    const Given<uint64_t> given(layout, 4ULL << 31, 1 << 20, 3000);
    const std::vector<uint64_t> records = sorted(packed(given, layout, {true, 3, {1ULL << 62, 3ULL << 61}, 0, true}), 3);
    const size_t count = records.size() / 3;
    auto columns = [&](size_t step) {
        Tally tally(layout, 1 << 20, 0);
        EdgeStream stream;
        std::vector<uint64_t> flat;
        std::vector<uint32_t> out(9 * step);
        std::vector<uint64_t> beside(3 * step);
        for (size_t at = 0; at < count; at += step) {
            const Unpacked written = unpack_edges(records.data() + 3 * at, std::min(step, count - at), layout, 4ULL << 31,
                                                  1 << 20, true, stream, tally.view, out.data(), beside.data(), step);
            for (size_t i = 0; i < written.counts[0]; ++i)
                flat.insert(flat.end(), {out[i], out[step + i], out[2 * step + i], beside[i]});
        }
        flat.insert(flat.end(), tally.totals.begin(), tally.totals.end());
        return flat;
    };
    CHECK(columns(1) == columns(count) && columns(7) == columns(count));
}

void what_does_not_fit_is_refused() {
    CHECK_THROWS((EdgeLayout{0, 1, 1, 0}), std::invalid_argument);
    CHECK_THROWS((EdgeLayout{kWord + 1, 1, 1, 0}), std::invalid_argument);
    CHECK_THROWS((EdgeLayout{10, 0, 1, 0}), std::invalid_argument);
    CHECK_THROWS((EdgeLayout{10, (1 << 16) + 1, 1, 0}), std::invalid_argument);
    CHECK_THROWS((EdgeLayout{10, 1, kWord + 1, 0}), std::invalid_argument);
    CHECK_THROWS((EdgeLayout{10, 1, 1, 3}), std::invalid_argument);
    CHECK_THROWS((EdgeLayout{kWord, 1 << 15, kWord, 0}), std::invalid_argument);  // 129 bits
    CHECK((EdgeLayout{kWord, 1 << 14, kWord, 0}).key_words == 2);                 // 127 bits
    CHECK((EdgeLayout{1 << 20, 1 << 10, 2, 2}).words() == 3 && (EdgeLayout{1 << 20, 1 << 10, 3, 2}).words() == 4);

    const EdgeLayout layout{10, 2, 4, 0};
    Given<uint32_t> given(layout, 20, 4, 100);
    std::vector<uint64_t> records(100);
    const EdgeRules rules{false, 0, {0, 0}, 0, false};
    CHECK(pack_edges(given.view(), layout, rules, records.data(), 1) == 100);
    for (auto* column : {&given.src, &given.dst, &given.rel}) {
        const uint32_t kept = std::exchange((*column)[50], 1000);
        CHECK_THROWS(pack_edges(given.view(), layout, rules, records.data(), 1), std::invalid_argument);
        (*column)[50] = kept;
    }
    Tally tally(layout, 3, 0);
    std::vector<uint32_t> out(9);
    auto unpack = [&](uint64_t record, uint64_t nodes) {
        EdgeStream stream;
        unpack_edges(&record, 1, layout, nodes, 3, false, stream, tally.view, out.data(), nullptr, 1);
    };
    // source partition 1 bit, destination partition 1, destination 4, source 4, relation 2, split 3
    unpack(1ULL << 14 | 9ULL << 5, 20);
    CHECK_THROWS(unpack(1ULL << 14 | 9ULL << 5, 19), std::invalid_argument);  // source 19
    CHECK_THROWS(unpack(10ULL << 5, 20), std::invalid_argument);              // source beyond its partition
    CHECK_THROWS(unpack(10ULL << 9, 20), std::invalid_argument);
    CHECK_THROWS(unpack(3ULL << 3, 20), std::invalid_argument);   // relation 3 of 3
    CHECK_THROWS(unpack(5, 20), std::invalid_argument);           // no such split
    CHECK_THROWS(unpack(1ULL << 15, 20), std::invalid_argument);  // source partition 2
}

}  // namespace

int main() {
    for (bool undirected : {false, true})
        for (bool by_hash : {false, true})
            for (bool drop : {false, true}) {
                unpacks_what_was_packed<uint32_t>(21, 5, 103, 3, undirected, undirected, by_hash, drop, 5'000);
                unpacks_what_was_packed<uint64_t>(kWord, 3, 3 * kWord - 5, 6, 2 * drop, undirected, by_hash, drop, 5'000);
            }
    unpacks_what_was_packed<uint64_t>(kWord - 7, 1024, (kWord - 7) * 1023 + 1, 1000, 1, true, true, false);
    unpacks_what_was_packed<uint64_t>(1000, 1, 1000, 1ULL << 30, 0, true, true, false);
    unpacks_what_was_packed<uint32_t>(1, 1, 1, 1, 0, true, true, false);
    pieces_of_any_length_give_the_same();
    what_does_not_fit_is_refused();
}
