#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <stdexcept>
#include <tuple>

#include "bind/arrays.h"
#include "graph/edges.h"
#include "graph/id_table.h"
#include "graph/in_lists.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace marius;
using namespace marius::bind;

namespace {

EdgeRecord* edge_records(const Records& records) {
    static_assert(sizeof(EdgeRecord) == 16);
    return reinterpret_cast<EdgeRecord*>(records.data());
}

template <class Keys, class Id>
void rank_ids(const IdTable<Keys>& table, Out<Id> order, Out<Id> rank, int threads) {
    require(order.size() == table.size() && rank.size() == table.size(), "order and rank: one entry per id");
    table.rank(order.data(), rank.data(), threads);
}

template <class Keys>
void hash_ids(const IdTable<Keys>& table, uint64_t first, uint64_t key, Out<uint64_t> out) {
    require(first <= table.size() && out.size() <= table.size() - first, "id out of range");
    for (size_t i = 0; i < out.size(); ++i) out.data()[i] = Keys::hash(table.keys().at(first + i), key);
}

template <class Keys>
nb::class_<IdTable<Keys>> bind_table(nb::module_& m, const char* name, const char* doc) {
    using Table = IdTable<Keys>;
    return nb::class_<Table>(m, name, doc)
        .def(nb::init<uint64_t>(), "key"_a)
        .def("__len__", &Table::size)
        .def_prop_ro("bytes", &Table::bytes)
        .def("hash", &hash_ids<Keys>, "first"_a, "key"_a, "out"_a.noconvert(), Release(),
             "Keyed hashes of the raw ids of provisional ids first, first + 1, ...")
        .def("rank", &rank_ids<Keys, uint32_t>, "order"_a.noconvert(), "rank"_a.noconvert(), "threads"_a = 1, Release())
        .def("rank", &rank_ids<Keys, uint64_t>, "order"_a.noconvert(), "rank"_a.noconvert(), "threads"_a = 1, Release());
}

void add_ints(IdTable<IntKeys>& table, In<int64_t> raw, Out<uint64_t> out) {
    require(raw.size() == out.size(), "out: one entry per raw id");
    table.add(raw.data(), raw.size(), out.data());
}

void take_ints(const IdTable<IntKeys>& table, In<uint64_t> ids, Out<int64_t> out) {
    require(ids.size() == out.size(), "out: one entry per id");
    for (size_t i = 0; i < ids.size(); ++i) {
        require(ids.data()[i] < table.size(), "id out of range");
        out.data()[i] = table.keys().at(ids.data()[i]);
    }
}

void add_strings(IdTable<StringKeys>& table, In<int32_t> offsets, In<uint8_t> data, Out<uint64_t> out) {
    require(offsets.size() == out.size() + 1, "offsets: one more than out");
    for (size_t i = 0; i < out.size(); ++i) require(offsets.data()[i] <= offsets.data()[i + 1], "offsets fall");
    require(offsets.data()[0] >= 0 && static_cast<size_t>(offsets.data()[out.size()]) <= data.size(), "offsets out of range");
    table.add(ArrowStrings{offsets.data(), reinterpret_cast<const char*>(data.data())}, out.size(), out.data());
}

void string_offsets(const IdTable<StringKeys>& table, In<uint64_t> ids, Out<int64_t> offsets) {
    require(offsets.size() == ids.size() + 1, "offsets: one more than ids");
    offsets.data()[0] = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
        require(ids.data()[i] < table.size(), "id out of range");
        offsets.data()[i + 1] = offsets.data()[i] + static_cast<int64_t>(table.keys().at(ids.data()[i]).size());
    }
}

void take_strings(const IdTable<StringKeys>& table, In<uint64_t> ids, Out<uint8_t> out) {
    uint8_t *at = out.data(), *end = out.data() + out.size();
    for (size_t i = 0; i < ids.size(); ++i) {
        require(ids.data()[i] < table.size(), "id out of range");
        std::string_view text = table.keys().at(ids.data()[i]);
        require(static_cast<size_t>(end - at) >= text.size(), "out is too short");
        std::memcpy(at, text.data(), text.size());
        at += text.size();
    }
}

template <class Spooled, class Id>
size_t pack(In<Spooled> src, In<uint32_t> rel, In<Spooled> dst, In<Id> node_ids, In<Id> split_rank,
            In<uint32_t> relation_rank, uint64_t rows, uint64_t partitions, int offset_bits, uint32_t split, nb::object bounds,
            uint64_t key, bool undirected, Records out) {
    EdgeRules rules{!bounds.is_none(), key, {0, 0}, split, undirected};
    if (rules.by_hash) std::tie(rules.bounds[0], rules.bounds[1]) = nb::cast<std::tuple<uint64_t, uint64_t>>(bounds);
    require(rel.size() == src.size() && dst.size() == src.size(), "src, rel, dst: equal lengths");
    require(split_rank.size() == node_ids.size(), "node_ids, split_rank: one entry per node");
    require(out.shape(0) >= src.size() * (undirected ? 2 : 1), "out is too short");
    nb::gil_scoped_release release;
    for (size_t i = 0; i < src.size(); ++i)
        require(src.data()[i] < node_ids.size() && dst.data()[i] < node_ids.size() &&
                    rel.data()[i] < relation_rank.size(), "provisional id out of range");
    return pack_edges(src.data(), rel.data(), dst.data(), src.size(), node_ids.data(), split_rank.data(),
                      relation_rank.data(), {rows, partitions, offset_bits}, rules, edge_records(out));
}

template <class Spooled, class Id>
void bind_pack(nb::module_& m) {
    m.def("pack_edges", &pack<Spooled, Id>, "src"_a.noconvert(), "rel"_a.noconvert(), "dst"_a.noconvert(),
          "node_ids"_a.noconvert(), "split_rank"_a.noconvert(), "relation_rank"_a.noconvert(), nb::kw_only(), "rows"_a,
          "partitions"_a, "offset_bits"_a, "split"_a, "bounds"_a.none(), "key"_a, "undirected"_a,
          "out"_a.noconvert());
}

void sort(Records records, Records scratch, int threads) {
    require(scratch.shape(0) >= records.shape(0), "scratch is too short");
    sort_edges(edge_records(records), edge_records(scratch), records.shape(0), threads);
}

size_t not_above(Records records, uint64_t high, uint64_t low) {
    return count_not_above(edge_records(records), records.shape(0), {high, low});
}

std::tuple<size_t, size_t, size_t> unpack(Records records, uint64_t rows, uint64_t partitions, int offset_bits,
                                          bool drop_duplicates, Out<uint64_t> stream, Out<int64_t, 2> bucket_counts,
                                          Out<int64_t> relation_counts, Out<uint32_t> out_degrees,
                                          Out<uint32_t> in_degrees, Out<uint8_t> seen, Out<int64_t, 2> totals,
                                          Out<uint32_t, 3> out) {
    const size_t nodes = seen.size(), count = records.shape(0);
    require(stream.size() == 3 && totals.size() == 9, "stream: 3 numbers, totals: (3, 3)");
    require(bucket_counts.shape(0) == 3 && bucket_counts.shape(1) == partitions * partitions, "bucket_counts: (3, p * p)");
    require(out_degrees.size() == nodes && in_degrees.size() == nodes, "degrees: one entry per node");
    require(out.shape(0) == 3 && out.shape(1) == 3 && out.shape(2) >= count, "out: (3, 3, records)");
    const EdgeRecord* edges = edge_records(records);
    for (size_t i = 0; i < count; ++i) {
        uint64_t bucket = edges[i].high >> offset_bits, dst = edges[i].high & ((1ULL << offset_bits) - 1);
        require(bucket < partitions * partitions && bucket / partitions * rows + (edges[i].low >> 32) < nodes &&
                    bucket % partitions * rows + dst < nodes &&
                    ((edges[i].low & 0xffffffff) >> 2) < relation_counts.size() && (edges[i].low & 3) < 3,
                "record out of range");
    }
    EdgeTally tally{bucket_counts.data(), relation_counts.data(), out_degrees.data(), in_degrees.data(),
                    seen.data(), totals.data(), totals.data() + 3, totals.data() + 6};
    EdgeStream place{{stream.data()[0], stream.data()[1]}, stream.data()[2]};
    Unpacked written = unpack_edges(edges, count, {rows, partitions, offset_bits}, drop_duplicates, place, tally,
                                    out.data(), out.shape(2));
    stream.data()[0] = place.last.high, stream.data()[1] = place.last.low, stream.data()[2] = place.in_train;
    return {written.counts[0], written.counts[1], written.counts[2]};
}

template <class Id>
void append_lists(In<uint32_t> src, In<uint32_t> dst, In<uint32_t> rel, uint64_t first_source, Out<int64_t> cursors,
                  Out<Id> sources, std::optional<Out<uint32_t>> rels, std::optional<In<float>> weight,
                  std::optional<Out<float>> weights) {
    const size_t count = src.size();
    require(dst.size() == count && rel.size() == count, "src, dst, rel: equal lengths");
    require(!rels || rels->size() == sources.size(), "rels: one for each source");
    require(weight.has_value() == weights.has_value(), "weight and weights: both, or neither");
    require(!weight || (weight->size() == count && weights->size() == sources.size()), "weights: one for each edge and source");
    append_in_edges<Id>(src.data(), dst.data(), rel.data(), weight ? weight->data() : nullptr, count, first_source,
                        {cursors.data(), cursors.size(), sources.data(), rels ? rels->data() : nullptr,
                         weights ? weights->data() : nullptr, sources.size()});
}

template <class Id>
void bind_append_lists(nb::module_& m) {
    m.def("append_in_edges", &append_lists<Id>, "src"_a.noconvert(), "dst"_a.noconvert(), "rel"_a.noconvert(),
          "first_source"_a, "cursors"_a.noconvert(), "sources"_a.noconvert(), "rels"_a.noconvert().none(),
          "weight"_a.noconvert().none() = nb::none(), "weights"_a.noconvert().none() = nb::none(), Release(),
          "Append a bucket's edges to the in-lists of its destinations: list i goes on at cursors[i], which moves.");
}

}  // namespace

void bind_graph(nb::module_& m) {
    bind_table<IntKeys>(m, "IntIdTable", "Raw int64 ids to provisional ids, in order of first sight.")
        .def("add", &add_ints, "raw"_a.noconvert(), "out"_a.noconvert(), Release())
        .def("take", &take_ints, "ids"_a.noconvert(), "out"_a.noconvert(), Release());
    bind_table<StringKeys>(m, "StringIdTable", "Raw byte strings to provisional ids, in order of first sight.")
        .def("add", &add_strings, "offsets"_a.noconvert(), "data"_a.noconvert(), "out"_a.noconvert(), Release())
        .def("offsets", &string_offsets, "ids"_a.noconvert(), "offsets"_a.noconvert(), Release())
        .def("take", &take_strings, "ids"_a.noconvert(), "out"_a.noconvert(), Release());
    bind_pack<uint32_t, uint32_t>(m);
    bind_pack<uint32_t, uint64_t>(m);
    bind_pack<uint64_t, uint32_t>(m);
    bind_pack<uint64_t, uint64_t>(m);
    bind_append_lists<uint32_t>(m);
    bind_append_lists<uint64_t>(m);
    m.def("sort_edges", &sort, "records"_a.noconvert(), "scratch"_a.noconvert(), "threads"_a = 1, Release(),
          "Sort packed edges (n, 2) uint64 in place by (bucket, destination, source, relation, split).");
    m.def("count_not_above", &not_above, "records"_a.noconvert(), "high"_a, "low"_a, Release(),
          "How many leading records of a sorted array are <= (high, low).");
    m.def("unpack_edges", &unpack, "records"_a.noconvert(), nb::kw_only(), "rows"_a, "partitions"_a, "offset_bits"_a,
          "drop_duplicates"_a, "stream"_a.noconvert(), "bucket_counts"_a.noconvert(), "relation_counts"_a.noconvert(),
          "out_degrees"_a.noconvert(), "in_degrees"_a.noconvert(), "seen"_a.noconvert(), "totals"_a.noconvert(),
          "out"_a.noconvert(), Release(),
          "Sorted records to per-split offsets in `out` (3, 3, n); counts what passes. Returns edges written per split.");
}
