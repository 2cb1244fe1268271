#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "bind/arrays.h"
#include "graph/lists_between.h"
#include "graph/partitioner.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace marius;
using namespace marius::bind;

namespace {

ArcRecord* edge_records(const Records& records) { return reinterpret_cast<ArcRecord*>(records.data()); }

template <class T>
T* data_or_null(const std::optional<nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>& array) {
    return array ? array->data() : nullptr;
}

template <class T>
void require_below(const T* values, size_t count, uint64_t end, const char* what) {
    for (size_t i = 0; i < count; ++i) require(values[i] < end, what);
}

// Native passes beside the arrays that they work on, which are kept alive.
struct Writer {
    ArcWriter writer;
    std::vector<uint8_t> bytes;

    void append(Records records) { writer.append(edge_records(records), records.shape(0), bytes); }
    void finish() { writer.finish(bytes); }
    void take(Out<uint8_t> out) {
        require(out.size() == bytes.size(), "out: as many bytes as are waiting");
        if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
        bytes.clear();
        writer.new_block();
    }
};

struct Clustering {
    Out<uint32_t> labels, sizes;
    std::optional<In<uint32_t>> weights;
    ClusterPass pass;

    Clustering(Out<uint32_t> labels_, Out<uint32_t> sizes_, std::optional<In<uint32_t>> weights_, uint64_t most, uint64_t seed)
        : labels(labels_), sizes(sizes_), weights(weights_),
          pass({labels.data(), sizes.data(), data_or_null<const uint32_t>(weights), labels.size(), most}, seed) {
        require(sizes.size() == labels.size() && (!weights || weights->size() == labels.size()), "one entry per node");
        require_below(labels.data(), labels.size(), labels.size(), "label out of range");
    }
    void read(In<uint8_t> bytes) { pass.read(bytes.data(), bytes.size()); }
    uint64_t finish() { return pass.finish(); }
};

struct Contracting {
    In<uint32_t> labels;
    Contraction contraction;
    std::vector<ArcRecord> records;

    explicit Contracting(In<uint32_t> labels_) : labels(labels_), contraction(labels.data(), labels.size()) {}
    size_t read(In<uint8_t> bytes) {
        contraction.read(bytes.data(), bytes.size(), records);
        return records.size();
    }
    size_t finish() {
        contraction.finish(records);
        return records.size();
    }
    void take(Records out) {  // the last ones
        require(out.shape(0) <= records.size(), "out: more than are waiting");
        std::copy(records.end() - static_cast<ptrdiff_t>(out.shape(0)), records.end(), edge_records(out));
        records.resize(records.size() - out.shape(0));
    }
};

struct Refining {
    Out<uint16_t> parts;
    Out<int64_t, 2> loads;
    In<int64_t, 2> room;
    std::optional<In<uint32_t>> weights;
    RefinePass pass;

    Refining(Out<uint16_t> parts_, Out<int64_t, 2> loads_, In<int64_t, 2> room_, std::optional<In<uint32_t>> weights_,
             uint64_t first, uint64_t loss)
        : parts(parts_), loads(loads_), room(room_), weights(weights_),
          pass({parts.data(), loads.data(), room.data(), data_or_null<const uint32_t>(weights), first, parts.size(),
                loads.shape(1)},
               loss) {
        require(loads.shape(0) == 2 && room.shape(0) == 2 && loads.shape(1) == room.shape(1), "loads, room: (2, partitions)");
        require(!weights || weights->size() == parts.size(), "one entry per node");
        require_below(parts.data(), parts.size(), loads.shape(1), "partition out of range");
    }
    void read(In<uint8_t> bytes) { pass.read(bytes.data(), bytes.size()); }
    uint64_t finish() { return pass.finish(); }
};

struct Between {
    Out<int64_t> starts, targets, weights;
    ListsBetween lists;

    Between(uint64_t begin, uint64_t end, uint64_t nodes, Out<int64_t> starts_, Out<int64_t> targets_, Out<int64_t> weights_)
        : starts(starts_), targets(targets_), weights(weights_),
          lists(begin, end, nodes, starts.data(), targets.data(), weights.data(), targets.size()) {
        require(begin <= end && end <= nodes && starts.size() == end - begin + 1,
                "starts: one more than nodes between begin and end");
        require(weights.size() == targets.size(), "targets, weights: equal lengths");
    }
    void read(In<uint8_t> bytes) { lists.read(bytes.data(), bytes.size()); }
    uint64_t finish() { return lists.finish(); }
};

size_t pack(In<uint32_t> src, In<uint32_t> rel, In<uint32_t> dst, In<uint32_t> node_rank, In<uint32_t> relation_rank,
            uint32_t split, nb::object bounds, uint64_t key, bool undirected, Records out) {
    EdgeRules rules{!bounds.is_none(), key, {0, 0}, split, undirected};
    if (rules.by_hash) std::tie(rules.bounds[0], rules.bounds[1]) = nb::cast<std::tuple<uint64_t, uint64_t>>(bounds);
    require(rel.size() == src.size() && dst.size() == src.size(), "src, rel, dst: equal lengths");
    require(out.shape(0) >= src.size() * 2, "out is too short");
    nb::gil_scoped_release release;
    require_below(src.data(), src.size(), node_rank.size(), "provisional id out of range");
    require_below(dst.data(), dst.size(), node_rank.size(), "provisional id out of range");
    require_below(rel.data(), rel.size(), relation_rank.size(), "provisional id out of range");
    return pack_arcs(src.data(), rel.data(), dst.data(), src.size(), node_rank.data(), relation_rank.data(), rules,
                     edge_records(out));
}

uint64_t number(Out<uint32_t> labels, Out<uint32_t> sizes) {
    require(sizes.size() == labels.size(), "one entry per node");
    require_below(labels.data(), labels.size(), labels.size(), "label out of range");
    return number_clusters(labels.data(), sizes.data(), labels.size());
}

void lay_out_nodes(In<uint32_t> parents, In<uint32_t> weights, Out<uint32_t> free, Out<uint32_t> starts) {
    require(weights.size() == parents.size() && starts.size() == parents.size(), "one entry per node");
    require_below(parents.data(), parents.size(), free.size(), "cluster out of range");
    lay_out(parents.data(), weights.data(), parents.size(), free.data(), starts.data());
}

void deal_nodes(Out<uint16_t> parts, uint64_t first, In<int64_t, 2> room) {
    require(room.shape(0) == 2 && first <= parts.size(), "room: (2, partitions), first: nodes");
    require_below(parts.data(), parts.size(), room.shape(1), "partition out of range");
    int64_t sums[2] = {0, 0};
    for (size_t i = 0; i < room.size(); ++i) sums[i / room.shape(1)] += room.data()[i];
    require(sums[0] == static_cast<int64_t>(first) && sums[0] + sums[1] == static_cast<int64_t>(parts.size()),
            "room: for every node, no more");
    deal(parts.data(), first, parts.size(), room.shape(1), room.data());
}

void place_nodes(In<uint16_t> parts, Out<int64_t> starts, Out<uint32_t> order, Out<uint32_t> rank) {
    require(order.size() == parts.size() && rank.size() == parts.size(), "one entry per node");
    require_below(parts.data(), parts.size(), starts.size(), "partition out of range");
    require_below(order.data(), order.size(), order.size(), "node out of range");
    std::vector<int64_t> next(starts.data(), starts.data() + starts.size());
    for (size_t i = 0; i < parts.size(); ++i) require(next[parts.data()[i]]++ < static_cast<int64_t>(parts.size()), "no room");
    place(parts.data(), parts.size(), starts.data(), order.data(), rank.data());
}

}  // namespace

void bind_partitioner(nb::module_& m) {
    m.def("pack_arcs", &pack, "src"_a.noconvert(), "rel"_a.noconvert(), "dst"_a.noconvert(), "node_rank"_a.noconvert(),
          "relation_rank"_a.noconvert(), nb::kw_only(), "split"_a, "bounds"_a.none(), "key"_a, "undirected"_a,
          "out"_a.noconvert(), "Both arcs of each training edge as records to sort; returns how many.");
    nb::class_<Writer>(m, "ArcWriter", "Sorted arcs to blocks of bytes; equal arcs add up.")
        .def(nb::init<>())
        .def_prop_ro("arcs", [](const Writer& w) { return w.writer.arcs(); })
        .def_prop_ro("waiting", [](const Writer& w) { return w.bytes.size(); })
        .def("append", &Writer::append, "records"_a.noconvert(), Release())
        .def("finish", &Writer::finish, Release())
        .def("take", &Writer::take, "out"_a.noconvert(), Release(), "The waiting bytes as one block.");
    nb::class_<Clustering>(m, "ClusterPass", "One pass of label propagation: no cluster grows beyond `most`.")
        .def(nb::init<Out<uint32_t>, Out<uint32_t>, std::optional<In<uint32_t>>, uint64_t, uint64_t>(), "labels"_a.noconvert(),
             "sizes"_a.noconvert(), "weights"_a.noconvert().none(), "most"_a, "seed"_a)
        .def("read", &Clustering::read, "block"_a.noconvert(), Release())
        .def("finish", &Clustering::finish, Release(), "How many nodes changed their cluster.");
    nb::class_<Contracting>(m, "Contraction", "Arcs between nodes to records of arcs between their clusters.")
        .def(nb::init<In<uint32_t>>(), "labels"_a.noconvert())
        .def("read", &Contracting::read, "block"_a.noconvert(), Release(), "How many records wait.")
        .def("finish", &Contracting::finish, Release())
        .def("take", &Contracting::take, "out"_a.noconvert(), Release());
    nb::class_<Refining>(m, "RefinePass", "One pass that moves nodes to where more of their arcs lead, within room.")
        .def(nb::init<Out<uint16_t>, Out<int64_t, 2>, In<int64_t, 2>, std::optional<In<uint32_t>>, uint64_t, uint64_t>(),
             "parts"_a.noconvert(), "loads"_a.noconvert(), "room"_a.noconvert(), "weights"_a.noconvert().none(), "first"_a,
             "loss"_a)
        .def("read", &Refining::read, "block"_a.noconvert(), Release())
        .def("finish", &Refining::finish, Release(), "How many nodes moved.");
    nb::class_<Between>(m, "ListsBetween", "Arcs among a stretch of nodes as arrays, numbered from its first.")
        .def(nb::init<uint64_t, uint64_t, uint64_t, Out<int64_t>, Out<int64_t>, Out<int64_t>>(), "begin"_a, "end"_a, "nodes"_a,
             "starts"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert())
        .def("read", &Between::read, "block"_a.noconvert(), Release())
        .def("finish", &Between::finish, Release(), "How many arcs there are.");
    m.def("number_clusters", &number, "labels"_a.noconvert(), "sizes"_a.noconvert(), Release(),
          "Labels to 0, 1, 2, ... in place; `sizes` are used up. Returns how many clusters there are.");
    m.def("lay_out", &lay_out_nodes, "parents"_a.noconvert(), "weights"_a.noconvert(), "free"_a.noconvert(),
          "starts"_a.noconvert(), Release(), "Places of nodes side by side inside their clusters, which begin at `free`.");
    m.def("deal_nodes", &deal_nodes, "parts"_a.noconvert(), "first"_a, "room"_a.noconvert(), Release(),
          "Make both groups fill their room exactly, keeping the order of (partition, node).");
    m.def("place_nodes", &place_nodes, "parts"_a.noconvert(), "starts"_a.noconvert(), "order"_a.noconvert(), "rank"_a.noconvert(),
          Release(), "Give ids partition after partition; `order` and `rank` are overwritten.");
}
