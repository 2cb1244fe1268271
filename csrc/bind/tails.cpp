#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bind/arrays.h"
#include "graph/tails.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace marius;
using namespace marius::bind;

namespace {

template <class T>
using Beside = std::optional<In<T>>;

template <class Id>
InLists<Id> lists_of(const In<int64_t>& indptr, const In<Id>& sources, const Beside<uint32_t>& rels,
                     const Beside<float>& weights) {
    require(indptr.size() > 0, "indptr: one entry more than nodes");
    require(!rels || rels->size() == sources.size(), "rels: one for each source");
    require(!weights || weights->size() == sources.size(), "weights: one for each source");
    return {indptr.data(), indptr.size() - 1, sources.data(), rels ? rels->data() : nullptr, weights ? weights->data() : nullptr,
            sources.size()};
}

template <class Id>
void merge(std::tuple<In<int64_t>, In<Id>, Beside<uint32_t>, Beside<float>> before,
           std::tuple<In<int64_t>, In<Id>, Beside<uint32_t>, Beside<float>> later, Out<int64_t> indptr, Out<Id> sources,
           std::optional<Out<uint32_t>> rels, std::optional<Out<float>> weights) {
    const auto of = [](const auto& lists) {
        return lists_of<Id>(std::get<0>(lists), std::get<1>(lists), std::get<2>(lists), std::get<3>(lists));
    };
    const InLists<Id> a = of(before), b = of(later);
    const size_t edges = a.edges + b.edges;
    require(indptr.size() == b.nodes + 1, "indptr: one entry more than nodes");
    require(sources.size() == edges && (!rels || rels->size() == edges) && (!weights || weights->size() == edges),
            "sources, rels, weights: one for each edge");
    require(!rels || (a.rels && b.rels), "rels: in both lists");
    require(!weights || (a.weights && b.weights), "weights: in both lists");
    nb::gil_scoped_release release;
    merge_in_edges<Id>(a, b, indptr.data(), sources.data(), rels ? rels->data() : nullptr, weights ? weights->data() : nullptr);
}

template <class Id>
void bind_merge(nb::module_& m) {
    m.def(
        "merge_in_edges", &merge<Id>, "before"_a.noconvert(), "later"_a.noconvert(), "indptr"_a.noconvert(),
        "sources"_a.noconvert(), "rels"_a.noconvert().none(), "weights"_a.noconvert().none(),
        "Merge two sets of in-edge lists (indptr, sources, rels, weights); the arrays `before` may end those that are written.");
}

nb::object with_ends(In<uint32_t> src, In<uint32_t> dst, In<int64_t> buckets, In<int64_t> ends, uint64_t partitions,
                     uint64_t rows, In<uint64_t> sought) {
    require(dst.size() == src.size(), "src, dst: equal lengths");
    require(buckets.size() == ends.size() && partitions > 0, "buckets, ends: one entry for each stretch");
    std::vector<int64_t> found;
    {
        nb::gil_scoped_release release;
        found = edges_with_ends(src.data(), dst.data(), src.size(),
                                {buckets.data(), ends.data(), buckets.size(), partitions, rows}, sought.data(), sought.size());
    }
    auto* kept = new std::vector<int64_t>(std::move(found));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

}  // namespace

void bind_tails(nb::module_& m) {
    bind_merge<uint32_t>(m);
    bind_merge<uint64_t>(m);
    m.def(
        "edges_with_ends", &with_ends, "src"_a.noconvert(), "dst"_a.noconvert(), "buckets"_a.noconvert(), "ends"_a.noconvert(),
        "partitions"_a, "rows"_a, "sought"_a.noconvert(),
        "Places of the edges whose number, bucket * rows^2 + dst * rows + src, is among ascending ones; buckets[s] ends at ends[s].");
}
