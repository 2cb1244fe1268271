// Neighbour sampling for Python. Arrays are C-contiguous, on the CPU, of exactly these dtypes: nothing is converted.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bind/arrays.h"
#include "bind/growing.h"
#include "graph/drawn_set.h"
#include "graph/edges_among.h"
#include "graph/sampler.h"
#include "graph/trees.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace marius;
using namespace marius::bind;

namespace {

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

// What sampling.neighbours.NeighbourSample documents.
nb::dict dict_of(NeighbourSample&& found, size_t seeds, bool with_rel) {
    nb::dict out;
    out["nodes"] = array_of(std::move(found.nodes));
    out["rows"] = array_of(std::move(found.rows));
    out["hop_nodes"] = array_of(std::move(found.hop_nodes));
    out["indptr"] = array_of(std::move(found.indptr));
    out["indices"] = array_of(std::move(found.labels), seeds);
    out["rel"] = with_rel ? array_of(std::move(found.rel)) : nb::none();
    out["hop_edges"] = array_of(std::move(found.hop_edges));
    out["neighbours"] = found.neighbours;
    out["missing"] = found.missing;
    return out;
}

// A sample that grows in passes. It keeps the arrays of its fanouts alive.
template <class Id>
struct Grower {
    GrowingSample<Id> sample;
    std::vector<AnyFanout> fanouts;
    size_t seeds;
};

// A sampler for Python. It keeps the arrays of the resident lists alive. Several callers may sample at the same time: each but the
// first gets a sampler of its own over the same lists. What changes the lists, or grows in passes, waits for all others.
template <class Id>
class Sampler {
public:
    Sampler(uint64_t rows_per_partition, uint64_t nodes, bool everywhere)
        : sampler_(checked(rows_per_partition, nodes), nodes, everywhere), arrays_(sampler_.residency().partitions()) {}

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
            others_.clear();
            sampler_.enter(k, {base_row, indptr.data(), sources.data(), relations, weight}, static_cast<int64_t>(sources.size()));
        }
        arrays_[k] = ListArrays{indptr, sources, rel, weights};
    }

    void leave(uint64_t k) {
        std::unique_lock lock(mutex_, std::defer_lock);
        {
            nb::gil_scoped_release released;
            lock.lock();
            others_.clear();
            sampler_.leave(k);
        }
        arrays_[k].reset();
    }

    void move(uint64_t k, int64_t base_row) {
        nb::gil_scoped_release released;
        std::lock_guard lock(mutex_);
        others_.clear();
        sampler_.move(k, base_row);
    }

    int64_t edges_moved() {
        nb::gil_scoped_release released;
        std::lock_guard lock(mutex_);
        return sampler_.edges_moved();
    }

    nb::dict sample(In<int64_t> seeds, const std::vector<AnyFanout>& fanouts, uint64_t seed, int threads,
                    std::optional<In<int64_t, 2>> exclude, bool both, bool replace) {
        require(!exclude || exclude->shape(1) == 2, "exclude: (m, 2), source and destination");
        return sampled(seeds, fanouts, [&](NeighbourSampler<Id>& sampler, SampleRequest& request) {
            request.seed = seed;
            request.threads = threads;
            if (exclude) request.excluded = ExcludedEdges(exclude->data(), exclude->shape(0), both);
            request.replace = replace;
            return sampler.sample(request);
        });
    }

    nb::dict sample_trees(In<int64_t> seeds, const std::vector<AnyFanout>& fanouts, uint64_t seed, int threads, bool replace) {
        return sampled(seeds, fanouts, [&](NeighbourSampler<Id>& sampler, SampleRequest& request) {
            request.seed = seed;
            request.threads = threads;
            request.replace = replace;
            return marius::sample_trees(sampler, request);
        });
    }

    nb::dict edges_among(In<int64_t> nodes, std::optional<In<int32_t>> trees, int threads) {
        require(nodes.size() <= FirstSeen<Id>::kMostPositions, "nodes: a batch holds less than 2^31");
        require(!trees || trees->size() == nodes.size(), "trees: one for each node");
        EdgesAmong found;
        bool with_rel;
        {
            nb::gil_scoped_release released;
            std::lock_guard lock(mutex_);
            found = marius::edges_among(sampler_, nodes.data(), trees ? trees->data() : nullptr,
                                        static_cast<int64_t>(nodes.size()), threads);
            with_rel = sampler_.with_rel();
        }
        nb::dict out;
        out["indptr"] = array_of(std::move(found.indptr));
        out["indices"] = array_of(std::move(found.indices));
        out["rel"] = with_rel ? array_of(std::move(found.rel)) : nb::none();
        return out;
    }

    Grower<Id> begin(In<int64_t> seeds, const std::vector<AnyFanout>& fanouts, uint64_t seed, int threads) {
        require(seeds.size() <= FirstSeen<Id>::kMostPositions, "seeds: a batch holds less than 2^31");
        SampleRequest request{seeds.data(), static_cast<int64_t>(seeds.size()), fanouts_of(fanouts), seed, threads, {}};
        Grower<Id> grower{{}, fanouts, seeds.size()};
        nb::gil_scoped_release released;
        std::lock_guard lock(mutex_);
        grower.sample = sampler_.begin(std::move(request));
        return grower;
    }

    void draw(const std::vector<Grower<Id>*>& growers, uint64_t k) {
        nb::gil_scoped_release released;
        std::lock_guard lock(mutex_);
        for (Grower<Id>* grower : growers) sampler_.draw(grower->sample, k);
    }

    void close_hop(const std::vector<Grower<Id>*>& growers) {
        nb::gil_scoped_release released;
        std::lock_guard lock(mutex_);
        for (Grower<Id>* grower : growers) sampler_.close_hop(grower->sample);
    }

    nb::dict grown(Grower<Id>& grower) {
        require(grower.sample.hop == grower.fanouts.size(), "grown: not all hops are closed");
        return dict_of(std::move(grower.sample.out), grower.seeds, sampler_.with_rel());
    }

private:
    // A sampler that nobody else uses meanwhile: the one that is there, or another among the same lists.
    class Lent {
    public:
        explicit Lent(Sampler& owner) : owner_(owner) {
            std::lock_guard lock(owner_.lending_);
            if (!std::exchange(owner_.lent_, true)) return;
            if (owner_.others_.empty()) {
                other_ = std::make_unique<NeighbourSampler<Id>>(owner_.sampler_.beside());
            } else {
                other_ = std::move(owner_.others_.back());
                owner_.others_.pop_back();
            }
        }
        ~Lent() {
            std::lock_guard lock(owner_.lending_);
            if (other_) owner_.others_.push_back(std::move(other_));
            else owner_.lent_ = false;
        }
        Lent(const Lent&) = delete;
        Lent& operator=(const Lent&) = delete;
        NeighbourSampler<Id>& sampler() { return other_ ? *other_ : owner_.sampler_; }

    private:
        Sampler& owner_;
        std::unique_ptr<NeighbourSampler<Id>> other_;
    };

    struct ListArrays {
        In<int64_t> indptr;
        In<Id> sources;
        std::optional<In<uint32_t>> rel;
        std::optional<In<float>> weights;
    };

    // `way` completes the request and samples.
    template <class Way>
    nb::dict sampled(const In<int64_t>& seeds, const std::vector<AnyFanout>& fanouts, Way&& way) {
        require(seeds.size() <= FirstSeen<Id>::kMostPositions, "seeds: a batch holds less than 2^31");
        SampleRequest request{seeds.data(), static_cast<int64_t>(seeds.size()), fanouts_of(fanouts), 0, 0, {}};
        NeighbourSample found;
        bool with_rel;
        {
            nb::gil_scoped_release released;
            std::shared_lock lock(mutex_);
            found = way(Lent(*this).sampler(), request);
            with_rel = sampler_.with_rel();
        }
        return dict_of(std::move(found), seeds.size(), with_rel);
    }

    static uint64_t checked(uint64_t rows, uint64_t nodes) {
        require(rows > 0 && nodes > 0, "rows_per_partition and nodes: at least 1");
        require(sizeof(Id) == 8 || nodes <= uint64_t{1} << 32, "nodes: beyond 2^32 take WideNeighbourSampler");
        return rows;
    }

    NeighbourSampler<Id> sampler_;
    std::vector<std::optional<ListArrays>> arrays_;
    std::shared_mutex mutex_;  // shared by those who sample
    std::mutex lending_;
    bool lent_ = false;  // sampler_ is in use
    std::vector<std::unique_ptr<NeighbourSampler<Id>>> others_;
};

template <class Id>
void bind_class(nb::module_& m, const char* name, const char* doc) {
    nb::class_<Grower<Id>>(m, (std::string(name) + "Grower").c_str(), "A sample that grows in passes: see `sampling.passes`.")
        .def_prop_ro(
            "in_partitions",
            [](const Grower<Id>& grower) {
                Growing<int64_t> counts;
                for (size_t k = 1; k < grower.sample.begins.size(); ++k)
                    counts.push(grower.sample.begins[k] - grower.sample.begins[k - 1]);
                return array_of(std::move(counts));
            },
            "How many nodes of the hop under way each partition has, int64 (partitions,).");
    nb::class_<Sampler<Id>>(m, name, doc)
        .def(nb::init<uint64_t, uint64_t, bool>(), "rows_per_partition"_a, "nodes"_a, "everywhere"_a = false,
             "`everywhere`: a source need not be resident to be drawn, and rows are node ids.")
        .def("enter", &Sampler<Id>::enter, "k"_a, "base_row"_a, "indptr"_a.noconvert(), "sources"_a.noconvert(),
             "rel"_a.noconvert().none() = nb::none(), "weights"_a.noconvert().none() = nb::none(),
             "Use partition k's in-edges, by reference, until `leave`.")
        .def("leave", &Sampler<Id>::leave, "k"_a)
        .def("move", &Sampler<Id>::move, "k"_a, "base_row"_a, "Partition k stays, its first row is another one.")
        .def_prop_ro("edges_moved", &Sampler<Id>::edges_moved)
        .def("sample", &Sampler<Id>::sample, "seeds"_a.noconvert(), "fanouts"_a, "seed"_a, "threads"_a = 0,
             "exclude"_a.noconvert().none() = nb::none(), "both"_a = false, "replace"_a = false,
             "Sample `fanouts` in-neighbours hop by hop; a dict of what sampling.neighbours.NeighbourSample documents.")
        .def("sample_trees", &Sampler<Id>::sample_trees, "seeds"_a.noconvert(), "fanouts"_a, "seed"_a, "threads"_a = 0,
             "replace"_a = false, "Sample each seed a neighbourhood of its own; a dict as of `sample`.")
        .def("edges_among", &Sampler<Id>::edges_among, "nodes"_a.noconvert(), "trees"_a.noconvert().none() = nb::none(),
             "threads"_a = 0, "All edges among distinct resident nodes, those of one tree: a dict of indptr, indices, rel.")
        .def("begin", &Sampler<Id>::begin, "seeds"_a.noconvert(), "fanouts"_a, "seed"_a, "threads"_a = 0,
             "Begin a sample that grows in passes, of a sampler that draws everywhere.")
        .def("draw", &Sampler<Id>::draw, "growers"_a, "k"_a,
             "Draw with the lists of partition k. In each hop every partition that has nodes is drawn from, in ascending order.")
        .def("close_hop", &Sampler<Id>::close_hop, "growers"_a, "End the hop under way.")
        .def("grown", &Sampler<Id>::grown, "grower"_a, "What `sample` returns, once: the grower is empty then.");
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

void list_edges(In<int64_t> indptr, In<int32_t> indices, Out<int64_t, 2> out) {
    const int64_t edges = static_cast<int64_t>(indices.size());
    require(indptr.size() > 0 && indptr.data()[0] == 0, "indptr: must begin with 0");
    require(out.shape(0) == 2 && static_cast<int64_t>(out.shape(1)) == edges, "out: two rows of as many ends as edges");
    const int64_t* starts = indptr.data();
    int64_t *sources = out.data(), *targets = sources + edges;
    nb::gil_scoped_release released;
    for (int64_t target = 0; target + 1 < static_cast<int64_t>(indptr.size()); ++target) {
        require(starts[target] <= starts[target + 1] && starts[target + 1] <= edges, "indptr: must not fall, nor pass the edges");
        std::fill(targets + starts[target], targets + starts[target + 1], target);
    }
    require(starts[indptr.size() - 1] == edges, "indptr: must end with the edges");
    std::copy_n(indices.data(), edges, sources);
}

}  // namespace

void bind_sampler(nb::module_& m) {
    bind_class<uint32_t>(m, "NeighbourSampler", "Samples in-neighbours among resident partitions; sources are uint32.");
    bind_class<uint64_t>(m, "WideNeighbourSampler", "A NeighbourSampler whose sources are uint64.");
    m.def("neighbour_draws", &neighbour_draws, "seed"_a, "hop"_a, "node"_a, "degree"_a, "fanout"_a,
          "Which of a node's `degree` candidates a sampler takes, uint64 (fanout,).");
    m.def("neighbour_keys", &neighbour_keys, "seed"_a, "hop"_a, "node"_a, "degree"_a, "weights"_a.noconvert().none() = nb::none(),
          "Keys, float64 (degree,), of a node's in-edges: those with the smallest are drawn by weight, or by relation.");
    m.def("list_edges", &list_edges, "indptr"_a.noconvert(), "indices"_a.noconvert(), "out"_a.noconvert(),
          "out[:, i] = source and target of edge i, int64 (2, edges), of lists: int64 (targets + 1,), int32 (edges,).");
}
