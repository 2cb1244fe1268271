// Packed edges: records in plain order are edges in the dataset's order, and unpacking gives back what was packed.
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "check.h"
#include "graph/edges.h"

using namespace marius;

namespace {

using Edge = std::tuple<uint64_t, uint64_t, uint64_t>;  // src, rel, dst
constexpr uint64_t kWord = 1ULL << 32;

std::vector<uint64_t> sorted(const std::vector<uint64_t>& records, int words) {
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
    for (bool undirected : {false, true})
        for (bool by_hash : {false, true})
            for (bool drop : {false, true}) {
                unpacks_what_was_packed<uint32_t>(21, 5, 103, 3, undirected, undirected, by_hash, drop, 5'000);
                unpacks_what_was_packed<uint64_t>(kWord, 3, 3 * kWord - 5, 6, 2 * drop, undirected, by_hash, drop, 5'000);
            }
    unpacks_what_was_packed<uint64_t>(kWord - 7, 1024, (kWord - 7) * 1023 + 1, 1000, 1, true, true, false);
    unpacks_what_was_packed<uint64_t>(1000, 1, 1000, 1ULL << 30, 0, true, true, false);
    unpacks_what_was_packed<uint32_t>(1, 1, 1, 1, 0, true, true, false);
    edges_of_another_split_are_told_from_duplicates();
    reverses_of_training_edges_are_counted();
    pieces_of_any_length_give_the_same();
    inverses_are_counted_in_pieces_of_any_length();
    what_does_not_fit_is_refused();
    counts_go_beyond_32_bits();
}
