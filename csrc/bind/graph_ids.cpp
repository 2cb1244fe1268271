#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "bind/arrays.h"
#include "graph/dense_ids.h"
#include "graph/id_runs.h"
#include "graph/id_table.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace marius;
using namespace marius::bind;

namespace {

template <class Keys>
void rank_ids(const IdTable<Keys>& table, Out<uint32_t> order, Out<uint32_t> rank, int threads) {
    require(order.size() == table.size() && rank.size() == table.size(), "order and rank: one entry per id");
    table.rank(order.data(), rank.data(), threads);
}

template <class Keys>
nb::class_<IdTable<Keys>> bind_table(nb::module_& m, const char* name, const char* doc) {
    using Table = IdTable<Keys>;
    return nb::class_<Table>(m, name, doc)
        .def(nb::init<uint64_t, uint64_t>(), "key"_a, "mask"_a = ~0ULL)
        .def("__len__", &Table::size)
        .def_prop_ro("bytes", &Table::bytes)
        .def_prop_ro("peak_bytes", &Table::peak_bytes, "The most it takes until its ids are ranked, if few more come.")
        .def("close", &Table::close, "No more ids come: gives the memory of finding them back.")
        .def("rank", &rank_ids<Keys>, "order"_a.noconvert(), "rank"_a.noconvert(), "threads"_a = 1, Release());
}

void add_ints(IdTable<IntKeys>& table, In<int64_t> raw, Out<uint32_t> out) {
    require(raw.size() == out.size(), "out: one entry per raw id");
    table.add(raw.data(), raw.size(), out.data());
}

void take_ints(const IdTable<IntKeys>& table, In<uint32_t> ids, Out<int64_t> out) {
    require(ids.size() == out.size(), "out: one entry per id");
    for (size_t i = 0; i < ids.size(); ++i) {
        require(ids.data()[i] < table.size(), "id out of range");
        out.data()[i] = table.keys().at(ids.data()[i]);
    }
}

template <class Number>
void require_strings(const In<int32_t>& offsets, const In<uint8_t>& data, const Out<Number>& out) {
    require(offsets.size() == out.size() + 1, "offsets: one more than out");
    for (size_t i = 0; i < out.size(); ++i) require(offsets.data()[i] <= offsets.data()[i + 1], "offsets fall");
    require(offsets.data()[0] >= 0 && static_cast<size_t>(offsets.data()[out.size()]) <= data.size(), "offsets out of range");
}

void add_strings(IdTable<StringKeys>& table, In<int32_t> offsets, In<uint8_t> data, Out<uint32_t> out) {
    require_strings(offsets, data, out);
    table.add(ArrowStrings{offsets.data(), reinterpret_cast<const char*>(data.data())}, out.size(), out.data());
}

void string_offsets(const IdTable<StringKeys>& table, In<uint32_t> ids, Out<int64_t> offsets) {
    require(offsets.size() == ids.size() + 1, "offsets: one more than ids");
    offsets.data()[0] = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
        require(ids.data()[i] < table.size(), "id out of range");
        offsets.data()[i + 1] = offsets.data()[i] + static_cast<int64_t>(table.keys().at(ids.data()[i]).size());
    }
}

void take_strings(const IdTable<StringKeys>& table, In<uint32_t> ids, Out<uint8_t> out) {
    uint8_t *at = out.data(), *end = out.data() + out.size();
    for (size_t i = 0; i < ids.size(); ++i) {
        require(ids.data()[i] < table.size(), "id out of range");
        std::string_view text = table.keys().at(ids.data()[i]);
        require(static_cast<size_t>(end - at) >= text.size(), "out is too short");
        std::memcpy(at, text.data(), text.size());
        at += text.size();
    }
}

void hash_ints(In<int64_t> raw, uint64_t key, Out<uint64_t> out) {
    require(raw.size() == out.size(), "out: one entry per raw id");
    for (size_t i = 0; i < raw.size(); ++i) out.data()[i] = IntKeys::hash(raw.data()[i], key);
}

void unhash_ints(In<uint64_t> hashes, uint64_t key, Out<int64_t> out) {
    require(hashes.size() == out.size(), "out: one entry per hash");
    for (size_t i = 0; i < hashes.size(); ++i) out.data()[i] = static_cast<int64_t>(unhash_int(hashes.data()[i], key));
}

void hash_strings(In<int32_t> offsets, In<uint8_t> data, uint64_t key, Out<uint64_t> out) {
    require_strings(offsets, data, out);
    const ArrowStrings strings{offsets.data(), reinterpret_cast<const char*>(data.data())};
    for (size_t i = 0; i < out.size(); ++i) out.data()[i] = StringKeys::hash(strings[i], key);
}

bool mark(In<int64_t> ids, uint64_t bound, Out<uint64_t> bitmap, Out<uint32_t> out) {
    require(bound <= 1ULL << 32 && ids.size() == out.size() && bound <= bitmap.size() * 64,
            "out: one entry per id; bitmap: a bit for each up to the bound");
    return mark_ids(ids.data(), ids.size(), bound, bitmap.data(), out.data());
}

size_t marked(In<uint64_t> bitmap, uint64_t key, uint64_t first, uint64_t last, Out<uint64_t> out) {
    return hashes_of_marked(bitmap.data(), bitmap.size(), key, first, last, out.data(), out.size());
}

using Run = std::tuple<std::string, std::string, uint64_t, uint64_t>;  // values, ends, ids, bytes of values

template <class Keys>
void bind_merge(nb::module_& m, const char* name) {
    nb::class_<RunMerge<Keys>>(m, name, "Merges runs of raw ids on disk, and numbers what is distinct.")
        .def(
            "__init__",
            [](RunMerge<Keys>* place, const std::vector<Run>& runs, const std::vector<std::string>& numbers,
               const std::string& values, const std::string& ends, uint64_t key, uint64_t mask, bool wide, size_t buffer) {
                require(runs.size() == numbers.size(), "numbers: a path for each run");
                std::vector<RunFiles> files;
                files.reserve(runs.size());
                for (const auto& [run_values, run_ends, count, bytes] : runs)
                    files.push_back({run_values, run_ends, count, bytes});
                new (place) RunMerge<Keys>(files, numbers, values, ends, key, mask, wide, buffer);
            },
            "runs"_a, "numbers"_a, "values"_a, "ends"_a, nb::kw_only(), "key"_a, "mask"_a, "wide"_a, "buffer"_a)
        .def("advance", &RunMerge<Keys>::advance, "count"_a, Release(), "Merge up to `count` more ids; fewer at the end.")
        .def_prop_ro("merged", &RunMerge<Keys>::merged);
}

}  // namespace

void bind_graph_ids(nb::module_& m) {
    bind_table<IntKeys>(m, "IntIdTable", "Raw int64 ids to provisional ids, in order of first sight.")
        .def("add", &add_ints, "raw"_a.noconvert(), "out"_a.noconvert(), Release())
        .def("take", &take_ints, "ids"_a.noconvert(), "out"_a.noconvert(), Release());
    bind_table<StringKeys>(m, "StringIdTable", "Raw byte strings to provisional ids, in order of first sight.")
        .def("add", &add_strings, "offsets"_a.noconvert(), "data"_a.noconvert(), "out"_a.noconvert(), Release())
        .def("offsets", &string_offsets, "ids"_a.noconvert(), "offsets"_a.noconvert(), Release())
        .def("take", &take_strings, "ids"_a.noconvert(), "out"_a.noconvert(), Release());
    bind_merge<IntKeys>(m, "IntRunMerge");
    bind_merge<StringKeys>(m, "StringRunMerge");
    m.def("hash_ints", &hash_ints, "raw"_a.noconvert(), "key"_a, "out"_a.noconvert(), Release());
    m.def("unhash_ints", &unhash_ints, "hashes"_a.noconvert(), "key"_a, "out"_a.noconvert(), Release(),
          "The ids that have these hashes.");
    m.def("hash_strings", &hash_strings, "offsets"_a.noconvert(), "data"_a.noconvert(), "key"_a, "out"_a.noconvert(), Release());
    m.def("mark_ids", &mark, "ids"_a.noconvert(), "bound"_a, "bitmap"_a.noconvert(), "out"_a.noconvert(), Release(),
          "Set the bits of ids and copy them to `out`; false, and nothing set, where one is not below the bound.");
    m.def("hashes_of_marked", &marked, "bitmap"_a.noconvert(), "key"_a, "first"_a, "last"_a, "out"_a.noconvert(), Release(),
          "Hashes in [first, last] of the ids that are set, in no order; returns how many, also where `out` is shorter.");
}
