// Neighbour sampling for Python. Arrays are C-contiguous, on the CPU, of exactly these dtypes: nothing is converted.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "bind/arrays.h"
#include "graph/drawn_set.h"
#include "graph/sampler.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace marius;
using namespace marius::bind;

namespace {

template <class T>
nb::object array_of(Growing<T>&& values, size_t from = 0) {
    auto* kept = new Growing<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Growing<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data() + from, {kept->size() - from}, owner));
}

using AnyFanout = std::variant<int64_t, In<int64_t>>;  // in total, or by relation

std::vector<Fanout> fanouts_of(const std::vector<AnyFanout>& given) {
    constexpr const char* what = "fanouts: a number of neighbours, or -1 for all";
    std::vector<Fanout> found;
    for (const AnyFanout& each : given) {
        if (const int64_t* number = std::get_if<int64_t>(&each)) {
            require(*number >= -1, what);
            found.emplace_back(*number);
        } else {
            const In<int64_t>& numbers = std::get<In<int64_t>>(each);
            require(numbers.size() > 0, "fanouts by relation: one for each relation");
            for (size_t r = 0; r < numbers.size(); ++r) require(numbers.data()[r] >= -1, what);
            found.emplace_back(numbers.data(), numbers.size());
        }
    }
    return found;
}

// A sampler for Python. It keeps the arrays of the resident lists alive, and serves one caller at a time.
template <class Id>
class Sampler {
public:
    Sampler(uint64_t rows_per_partition, uint64_t nodes)
        : sampler_(checked(rows_per_partition, nodes), nodes), arrays_(sampler_.residency().partitions()) {}

    void enter(uint64_t k, int64_t base_row, In<int64_t> indptr, In<Id> sources, std::optional<In<uint32_t>> rel,
               std::optional<In<float>> weights) {
        static constexpr uint32_t none = 0;
        static constexpr float weightless = 0;
        require(k < arrays_.size(), "enter: no such partition");
        require(indptr.size() == sampler_.residency().size(k) + 1, "indptr: one more than the partition has nodes");
        require(!rel || rel->size() == sources.size(), "rel: one for each source");
        require(!weights || weights->size() == sources.size(), "weights: one for each source");
        const uint32_t* relations = !rel ? nullptr : rel->size() ? rel->data() : &none;
        const float* weight = !weights ? nullptr : weights->size() ? weights->data() : &weightless;
        std::unique_lock lock(mutex_, std::defer_lock);
        {
            nb::gil_scoped_release released;
            lock.lock();
            sampler_.enter(k, {base_row, indptr.data(), sources.data(), relations, weight}, static_cast<int64_t>(sources.size()));
        }
        arrays_[k] = ListArrays{indptr, sources, rel, weights};
    }

    void leave(uint64_t k) {
        std::unique_lock lock(mutex_, std::defer_lock);
        {
            nb::gil_scoped_release released;
            lock.lock();
            sampler_.leave(k);
        }
        arrays_[k].reset();
    }

    void move(uint64_t k, int64_t base_row) {
        nb::gil_scoped_release released;
        std::lock_guard lock(mutex_);
        sampler_.move(k, base_row);
    }

    int64_t edges_moved() {
        nb::gil_scoped_release released;
        std::lock_guard lock(mutex_);
        return sampler_.edges_moved();
    }

    nb::dict sample(In<int64_t> seeds, const std::vector<AnyFanout>& fanouts, uint64_t seed, int threads,
                    std::optional<In<int64_t, 2>> exclude, bool both) {
        require(seeds.size() <= FirstSeen<Id>::kMostPositions, "seeds: a batch holds less than 2^31");
        require(!exclude || exclude->shape(1) == 2, "exclude: (m, 2), source and destination");
        std::vector<Fanout> by_hop = fanouts_of(fanouts);
        NeighbourSample found;
        bool with_rel;
        {
            nb::gil_scoped_release released;
            std::lock_guard lock(mutex_);
            SampleRequest request{
                seeds.data(),      static_cast<int64_t>(seeds.size()),
                std::move(by_hop), seed,
                threads,           exclude ? ExcludedEdges(exclude->data(), exclude->shape(0), both) : ExcludedEdges()};
            found = sampler_.sample(request);
            with_rel = sampler_.with_rel();
        }
        nb::dict out;
        out["nodes"] = array_of(std::move(found.nodes));
        out["rows"] = array_of(std::move(found.rows));
        out["hop_nodes"] = array_of(std::move(found.hop_nodes));
        out["indptr"] = array_of(std::move(found.indptr));
        out["indices"] = array_of(std::move(found.labels), seeds.size());
        out["rel"] = with_rel ? array_of(std::move(found.rel)) : nb::none();
        out["hop_edges"] = array_of(std::move(found.hop_edges));
        out["neighbours"] = found.neighbours;
        out["missing"] = found.missing;
        return out;
    }

private:
    struct ListArrays {
        In<int64_t> indptr;
        In<Id> sources;
        std::optional<In<uint32_t>> rel;
        std::optional<In<float>> weights;
    };

    static uint64_t checked(uint64_t rows, uint64_t nodes) {
        require(rows > 0 && nodes > 0, "rows_per_partition and nodes: at least 1");
        require(sizeof(Id) == 8 || nodes <= uint64_t{1} << 32, "nodes: beyond 2^32 take WideNeighbourSampler");
        return rows;
    }

    NeighbourSampler<Id> sampler_;
    std::vector<std::optional<ListArrays>> arrays_;
    std::mutex mutex_;
};

template <class Id>
void bind_class(nb::module_& m, const char* name, const char* doc) {
    nb::class_<Sampler<Id>>(m, name, doc)
        .def(nb::init<uint64_t, uint64_t>(), "rows_per_partition"_a, "nodes"_a)
        .def("enter", &Sampler<Id>::enter, "k"_a, "base_row"_a, "indptr"_a.noconvert(), "sources"_a.noconvert(),
             "rel"_a.noconvert().none() = nb::none(), "weights"_a.noconvert().none() = nb::none(),
             "Use partition k's in-edges, by reference, until `leave`.")
        .def("leave", &Sampler<Id>::leave, "k"_a)
        .def("move", &Sampler<Id>::move, "k"_a, "base_row"_a, "Partition k stays, its first row is another one.")
        .def_prop_ro("edges_moved", &Sampler<Id>::edges_moved)
        .def("sample", &Sampler<Id>::sample, "seeds"_a.noconvert(), "fanouts"_a, "seed"_a, "threads"_a = 0,
             "exclude"_a.noconvert().none() = nb::none(), "both"_a = false,
             "Sample `fanouts` in-neighbours hop by hop; a dict of what sampling.neighbours.NeighbourSample documents.");
}

nb::object neighbour_draws(uint64_t seed, uint64_t hop, uint64_t node, uint64_t degree, uint64_t fanout) {
    require(fanout < degree, "fanout: below degree; otherwise all are taken, in order");
    Growing<uint64_t> out;
    out.extend(fanout);
    DrawnSet set;
    draw_distinct(DrawStream(seed, hop, node), degree, fanout, out.data(), set);
    return array_of(std::move(out));
}

nb::object neighbour_keys(uint64_t seed, uint64_t hop, uint64_t node, uint64_t degree, std::optional<In<float>> weights) {
    require(!weights || weights->size() == degree, "weights: one for each edge");
    Growing<double> out;
    out.extend(degree);
    const DrawStream stream(seed, hop, node);
    for (uint64_t place = 0; place < degree; ++place)
        out.data()[place] = weights ? edge_key(stream, place, weights->data()[place]) : edge_key(stream, place);
    return array_of(std::move(out));
}

}  // namespace

void bind_sampler(nb::module_& m) {
    bind_class<uint32_t>(m, "NeighbourSampler", "Samples in-neighbours among resident partitions; sources are uint32.");
    bind_class<uint64_t>(m, "WideNeighbourSampler", "A NeighbourSampler whose sources are uint64.");
    m.def("neighbour_draws", &neighbour_draws, "seed"_a, "hop"_a, "node"_a, "degree"_a, "fanout"_a,
          "Which of a node's `degree` candidates a sampler takes, uint64 (fanout,).");
    m.def("neighbour_keys", &neighbour_keys, "seed"_a, "hop"_a, "node"_a, "degree"_a, "weights"_a.noconvert().none() = nb::none(),
          "Keys, float64 (degree,), of a node's in-edges: those with the smallest are drawn by weight, or by relation.");
}
