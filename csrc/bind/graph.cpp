#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <stdexcept>
#include <tuple>
#include <variant>

#include "bind/arrays.h"
#include "graph/edges.h"
#include "graph/in_lists.h"
#include "graph/records.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace marius;
using namespace marius::bind;

namespace {

using AnyRecords = Out<uint64_t, 2>;  // (n, words)

// Calls `with` for the number of words that records have.
template <class With>
auto by_words(const AnyRecords& records, With with) {
    switch (records.shape(1)) {
        case 1: return with(reinterpret_cast<Record<1>*>(records.data()));
        case 2: return with(reinterpret_cast<Record<2>*>(records.data()));
        case 3: return with(reinterpret_cast<Record<3>*>(records.data()));
        case 4: return with(reinterpret_cast<Record<4>*>(records.data()));
    }
    throw std::invalid_argument("records: 1 to 4 words");
}

void sort(AnyRecords records, int threads) {
    by_words(records, [&](auto* first) { sort_records(first, records.shape(0), threads); });
}

size_t not_above(AnyRecords records, In<uint64_t> bound) {
    require(bound.size() == records.shape(1), "bound: one record");
    return by_words(records, [&]<int words>(Record<words>* first) {
        return count_not_above(first, records.shape(0), *reinterpret_cast<const Record<words>*>(bound.data()));
    });
}

template <class Id>
size_t pack(const EdgeLayout& layout, In<uint32_t> src, In<uint32_t> rel, In<uint32_t> dst,
            std::optional<In<uint64_t, 2>> carried, In<Id> node_ids, In<Id> split_ids, In<uint32_t> relation_ids, uint32_t split,
            nb::object bounds, uint64_t key, bool undirected, int threads, AnyRecords out) {
    EdgeRules rules{!bounds.is_none(), key, {0, 0}, split, undirected};
    require(split < 3, "split: 0 to 2");
    if (rules.by_hash) std::tie(rules.bounds[0], rules.bounds[1]) = nb::cast<std::tuple<uint64_t, uint64_t>>(bounds);
    const size_t count = src.size();
    require(rel.size() == count && dst.size() == count, "src, rel, dst: equal lengths");
    require(carried.has_value() == (layout.carried > 0), "carried: as the layout says");
    require(!carried || (carried->shape(0) == count && carried->shape(1) == static_cast<size_t>(layout.carried)),
            "carried: (edges, what the layout says)");
    require(split_ids.size() == node_ids.size(), "node_ids, split_ids: one entry per spooled id");
    require(out.shape(1) == static_cast<size_t>(layout.words()) && out.shape(0) >= count * (both_ways(rules) ? 2 : 1),
            "out is too short");
    nb::gil_scoped_release release;
    return pack_edges<Id>({src.data(), rel.data(), dst.data(), carried ? carried->data() : nullptr, count, node_ids.data(),
                           split_ids.data(), node_ids.size(), relation_ids.data(), relation_ids.size()},
                          layout, rules, out.data(), threads);
}

template <class Id>
void bind_pack(nb::class_<EdgeLayout>& layout) {
    layout.def("pack", &pack<Id>, "src"_a.noconvert(), "rel"_a.noconvert(), "dst"_a.noconvert(), "carried"_a.noconvert().none(),
               "node_ids"_a.noconvert(), "split_ids"_a.noconvert(), "relation_ids"_a.noconvert(), nb::kw_only(), "split"_a,
               "bounds"_a.none(), "key"_a, "undirected"_a, "threads"_a, "out"_a.noconvert());
}

void pack_again(const EdgeLayout& layout, In<uint32_t> src, In<uint32_t> dst, In<uint32_t> rel,
                std::optional<In<uint64_t, 2>> carried, uint64_t first, In<int64_t> bucket_offsets, uint64_t rows, uint64_t nodes,
                uint64_t relations, uint32_t split, int threads, AnyRecords out) {
    const size_t count = src.size();
    uint64_t partitions = 0;
    while (partitions * partitions + 1 < bucket_offsets.size()) ++partitions;
    require(partitions && partitions * partitions + 1 == bucket_offsets.size(), "bucket_offsets: p * p + 1");
    require(rel.size() == count && dst.size() == count, "src, dst, rel: equal lengths");
    require(carried.has_value() == (layout.carried > 0), "carried: as the layout says");
    require(!carried || (carried->shape(0) == count && carried->shape(1) == static_cast<size_t>(layout.carried)),
            "carried: (edges, what the layout says)");
    require(out.shape(1) == static_cast<size_t>(layout.words()) && out.shape(0) == count, "out: a record for each edge");
    nb::gil_scoped_release release;
    pack_stored({src.data(), dst.data(), rel.data(), carried ? carried->data() : nullptr, count, first, bucket_offsets.data(),
                 rows, partitions},
                layout, nodes, relations, split, out.data(), threads);
}

uint64_t record_bucket(const EdgeLayout& layout, In<uint64_t> record) {
    require(record.size() == static_cast<size_t>(layout.words()), "record: as long as the layout says");
    return bucket_of(record.data(), layout);
}

struct NoNodes {};

template <class Count>
struct CountedNodes {
    Out<Count> out_degrees, in_degrees;
    Out<uint8_t> splits;
};

// The counts of the records so far; `stream` is what must be known of the last ones.
struct EdgeCounts {
    Out<int64_t, 2> buckets;
    Out<int64_t, 2> relations;
    Out<int64_t, 2> totals;
    std::variant<NoNodes, CountedNodes<uint32_t>, CountedNodes<uint64_t>> nodes;
    EdgeStream stream;
};

template <class Count>
void make_counts(EdgeCounts* place, Out<int64_t, 2> buckets, Out<int64_t, 2> relations, Out<int64_t, 2> totals,
                 std::optional<Out<Count>> out_degrees, std::optional<Out<Count>> in_degrees,
                 std::optional<Out<uint8_t>> splits) {
    require(buckets.shape(0) == 3 && relations.shape(0) == 3 && totals.shape(0) == 5 && totals.shape(1) == 3,
            "buckets: (3, p * p), relations: (3, relations), totals: (5, 3)");
    require(out_degrees.has_value() == splits.has_value() && in_degrees.has_value() == splits.has_value(),
            "degrees: all or none");
    auto* counts = new (place) EdgeCounts{buckets, relations, totals, {}, {}};
    if (splits) counts->nodes = CountedNodes<Count>{*out_degrees, *in_degrees, *splits};
}

EdgeTally<uint32_t> tally_of(EdgeCounts& counts, const NoNodes&, uint64_t) {
    return {counts.buckets.data(),
            counts.relations.data(),
            nullptr,
            nullptr,
            nullptr,
            counts.totals.data(),
            counts.totals.data() + 3,
            counts.totals.data() + 6,
            counts.totals.data() + 9,
            counts.totals.data() + 12};
}

template <class Count>
EdgeTally<Count> tally_of(EdgeCounts& counts, const CountedNodes<Count>& by_node, uint64_t nodes) {
    require(by_node.splits.size() == nodes && by_node.out_degrees.size() == nodes && by_node.in_degrees.size() == nodes,
            "degrees: one entry per node");
    return {counts.buckets.data(),    counts.relations.data(),  by_node.out_degrees.data(), by_node.in_degrees.data(),
            by_node.splits.data(),    counts.totals.data(),     counts.totals.data() + 3,   counts.totals.data() + 6,
            counts.totals.data() + 9, counts.totals.data() + 12};
}

std::tuple<size_t, size_t, size_t> unpack(const EdgeLayout& layout, AnyRecords records, uint64_t nodes, bool drop_duplicates,
                                          EdgeCounts& counts, Out<uint32_t, 3> out, std::optional<Out<uint64_t, 3>> carried) {
    const size_t count = records.shape(0);
    require(records.shape(1) == static_cast<size_t>(layout.words()), "records: as wide as the layout says");
    require(counts.buckets.shape(1) == layout.partitions * layout.partitions, "buckets: (3, p * p)");
    require(out.shape(0) == 3 && out.shape(1) == 3 && out.shape(2) >= count, "out: (3, 3, records)");
    require(carried.has_value() == (layout.carried > 0), "carried: as the layout says");
    require(!carried || (carried->shape(0) == 3 && carried->shape(1) == out.shape(2) &&
                         carried->shape(2) == static_cast<size_t>(layout.carried)),
            "carried: (3, records, what the layout says)");
    const Unpacked written = std::visit(
        [&](const auto& by_node) {
            const auto tally = tally_of(counts, by_node, nodes);
            nb::gil_scoped_release release;
            return unpack_edges(records.data(), count, layout, nodes, counts.relations.shape(1), drop_duplicates, counts.stream,
                                tally, out.data(), carried ? carried->data() : nullptr, out.shape(2));
        },
        counts.nodes);
    return {written.counts[0], written.counts[1], written.counts[2]};
}

BucketRuns runs_of(const In<int64_t>& buckets, const In<int64_t>& ends, uint64_t partitions, uint64_t rows) {
    require(buckets.size() == ends.size() && partitions > 0, "buckets, ends: one entry for each stretch");
    return {buckets.data(), ends.data(), buckets.size(), partitions, rows};
}

template <class Id>
void append_lists(In<uint32_t> src, In<uint32_t> dst, In<uint32_t> rel, In<int64_t> buckets, In<int64_t> ends,
                  uint64_t partitions, uint64_t rows, uint64_t first, Out<int64_t> cursors, Out<Id> sources,
                  std::optional<Out<uint32_t>> rels, std::optional<In<float>> weight, std::optional<Out<float>> weights) {
    const size_t count = src.size();
    require(dst.size() == count && rel.size() == count, "src, dst, rel: equal lengths");
    require(!rels || rels->size() == sources.size(), "rels: one for each source");
    require(weight.has_value() == weights.has_value(), "weight and weights: both, or neither");
    require(!weight || (weight->size() == count && weights->size() == sources.size()), "weights: one for each edge and source");
    append_in_edges<Id>(src.data(), dst.data(), rel.data(), weight ? weight->data() : nullptr, count,
                        runs_of(buckets, ends, partitions, rows),
                        {cursors.data(), cursors.size(), first, sources.data(), rels ? rels->data() : nullptr,
                         weights ? weights->data() : nullptr, sources.size()});
}

template <class Count>
void count(In<uint32_t> offsets, In<int64_t> buckets, In<int64_t> ends, uint64_t partitions, uint64_t rows, bool of_columns,
           uint64_t first, uint8_t mark, Out<uint8_t> splits, std::optional<Out<Count>> degrees) {
    require(!degrees || degrees->size() == splits.size(), "degrees, splits: one entry per node");
    count_ends<Count>(offsets.data(), offsets.size(), runs_of(buckets, ends, partitions, rows), of_columns, mark,
                      {degrees ? degrees->data() : nullptr, splits.data(), splits.size(), first});
}

template <class Count>
void bind_count(nb::module_& m) {
    m.def(
        "count_ends", &count<Count>, "offsets"_a.noconvert(), "buckets"_a.noconvert(), "ends"_a.noconvert(), "partitions"_a,
        "rows"_a, "of_columns"_a, "first"_a, "mark"_a, "splits"_a.noconvert(), "degrees"_a.noconvert().none(), Release(),
        "Count where edges begin or, `of_columns`, end, among the nodes from `first` on; the edges of buckets[s] end at ends[s].");
}

template <class Count>
void bind_histogram(nb::module_& m) {
    m.def(
        "add_to_histogram",
        [](In<Count> values, Out<int64_t> counts) {
            require(counts.size() > 0, "counts: one at least");
            add_to_histogram<Count>(values.data(), values.size(), counts.data(), counts.size());
        },
        "values"_a.noconvert(), "counts"_a.noconvert(), Release(),
        "Add how many of `values` are 0, 1, ... to `counts`; the last of them counts all that are larger too.");
}

template <class Id>
void bind_append_lists(nb::module_& m) {
    m.def(
        "append_in_edges", &append_lists<Id>, "src"_a.noconvert(), "dst"_a.noconvert(), "rel"_a.noconvert(),
        "buckets"_a.noconvert(), "ends"_a.noconvert(), "partitions"_a, "rows"_a, "first"_a, "cursors"_a.noconvert(),
        "sources"_a.noconvert(), "rels"_a.noconvert().none(), "weight"_a.noconvert().none() = nb::none(),
        "weights"_a.noconvert().none() = nb::none(), Release(),
        "Append edges, those of buckets[s] up to ends[s], to the in-lists of the nodes from `first` on: list i goes on at cursors[i], "
        "which moves.");
}

}  // namespace

void bind_graph(nb::module_& m) {
    auto layout =
        nb::class_<EdgeLayout>(m, "EdgeLayout", "How edges are packed into records; `carried`: words that each carries besides.")
            .def(nb::init<uint64_t, uint64_t, uint64_t, int>(), "rows"_a, "partitions"_a, "relations"_a, "carried"_a = 0)
            .def_prop_ro("words", &EdgeLayout::words)
            .def("pack_stored", &pack_again, "src"_a.noconvert(), "dst"_a.noconvert(), "rel"_a.noconvert(),
                 "carried"_a.noconvert().none(), nb::kw_only(), "first"_a, "bucket_offsets"_a.noconvert(), "rows"_a, "nodes"_a,
                 "relations"_a, "split"_a, "threads"_a, "out"_a.noconvert(),
                 "Stored edges of another layout, of `rows` nodes a partition, to records; `first`: edges that come before them.")
            .def("bucket", &record_bucket, "record"_a.noconvert(), "Flat index of the bucket a record lies in.")
            .def("unpack", &unpack, "records"_a.noconvert(), "nodes"_a, "drop_duplicates"_a, "counts"_a, "out"_a.noconvert(),
                 "carried"_a.noconvert().none() = nb::none(),
                 "Sorted records to per-split offsets in `out` (3, 3, n); counts what passes. Returns edges written per split.");
    bind_pack<uint32_t>(layout);
    bind_pack<uint64_t>(layout);
    nb::class_<EdgeCounts>(m, "EdgeCounts", "What is counted while sorted records pass; the arrays are filled.")
        .def("__init__", &make_counts<uint32_t>, "buckets"_a.noconvert(), "relations"_a.noconvert(), "totals"_a.noconvert(),
             "out_degrees"_a.noconvert().none() = nb::none(), "in_degrees"_a.noconvert().none() = nb::none(),
             "splits"_a.noconvert().none() = nb::none())
        .def("__init__", &make_counts<uint64_t>, "buckets"_a.noconvert(), "relations"_a.noconvert(), "totals"_a.noconvert(),
             "out_degrees"_a.noconvert(), "in_degrees"_a.noconvert(), "splits"_a.noconvert());
    bind_count<uint32_t>(m);
    bind_count<uint64_t>(m);
    bind_histogram<uint32_t>(m);
    bind_histogram<uint64_t>(m);
    bind_append_lists<uint32_t>(m);
    bind_append_lists<uint64_t>(m);
    m.def("sort_records", &sort, "records"_a.noconvert(), "threads"_a = 1, Release(),
          "Sort records (n, words) uint64 in place by their words in turn.");
    m.def("count_not_above", &not_above, "records"_a.noconvert(), "bound"_a.noconvert(), Release(),
          "How many leading records of a sorted array are <= bound.");
}
