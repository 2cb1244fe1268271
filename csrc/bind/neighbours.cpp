// Sums of neighbours' rows for Python. Rows of bfloat16 are given as their bits, uint16.
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "bind/arrays.h"
#include "layers/aggregate.h"
#include "layers/block_sum.h"

using namespace nanobind::literals;

namespace {

using marius::BrainBits;
using namespace marius::bind;

template <class T> using Strided = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Maybe = std::optional<In<T>>;

template <class T> marius::Rows<T> rows_of(const Strided<T>& array, const char* name) {
    if (array.size() != 0 && array.shape(1) != 1 && array.stride(1) != 1)
        throw std::invalid_argument(std::string("neighbour_sum: the rows of ") + name + " have gaps");
    return {array.data(), static_cast<std::int64_t>(array.shape(0)), array.stride(0)};
}

template <class Index>
marius::Neighbours<Index> neighbours(const In<std::int64_t>& indptr, const In<Index>& indices, std::int64_t sources,
                                     const Maybe<float>& weights, bool mean, const Maybe<float>& own) {
    require(indptr.shape(0) >= 1, "neighbour_sum: indptr is empty");
    require(!weights || weights->shape(0) == indices.shape(0), "neighbour_sum: one weight for each of indices is needed");
    require(!own || own->shape(0) + 1 == indptr.shape(0), "neighbour_sum: one number of own for each target is needed");
    return {indptr.data(),  static_cast<std::int64_t>(indptr.shape(0)) - 1,
            indices.data(), static_cast<std::int64_t>(indices.shape(0)),
            sources,        weights ? weights->data() : nullptr,
            mean,           own ? own->data() : nullptr};
}

template <class Index, class X, class Y>
void neighbour_sum(Strided<const X> x, In<std::int64_t> indptr, In<Index> indices, Strided<Y> out, Maybe<float> weights,
                   bool mean, Maybe<float> own, int threads) {
    const auto graph = neighbours(indptr, indices, x.shape(0), weights, mean, own);
    require(static_cast<std::int64_t>(out.shape(0)) == graph.targets && out.shape(1) <= x.shape(1),
            "neighbour_sum: out must have a row for each target and no more columns than x");
    marius::neighbour_sum(graph, rows_of(x, "x"), rows_of(out, "out"), out.shape(1), threads);
}

template <class Index, class X>
void neighbour_sum_backward(Strided<const X> grad, In<std::int64_t> indptr, In<Index> indices, Out<X, 2> out,
                            Maybe<float> weights, bool mean, Maybe<float> own, std::optional<Strided<const X>> base,
                            int threads) {
    const auto graph = neighbours(indptr, indices, out.shape(0), weights, mean, own);
    const auto dim = out.shape(1);
    require(static_cast<std::int64_t>(grad.shape(0)) == graph.targets && grad.shape(1) == dim,
            "neighbour_sum_backward: grad must have a row for each target, and as many columns as out");
    require(!base || (base->shape(0) <= out.shape(0) && base->shape(1) == dim),
            "neighbour_sum_backward: base must have no more rows than out, and as many columns");
    marius::neighbour_sum_backward(graph, rows_of(grad, "grad"), base ? rows_of(*base, "base") : marius::Rows<const X>{},
                                   {out.data(), graph.sources, static_cast<std::int64_t>(dim)}, dim, threads);
}

template <class Id>
void add_block(Strided<const float> block, std::int64_t first, In<std::int64_t> indptr, In<Id> sources, In<float> of_targets,
               Out<std::int64_t> next, Out<float, 2> sums, Maybe<float> of_sources, std::int64_t without, Maybe<float> of_edges,
               int threads) {
    const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    require(indptr.shape(0) >= 1, "add_block: indptr is empty");
    const std::size_t targets = indptr.shape(0) - 1;
    require(of_targets.shape(0) == targets && next.shape(0) == targets && sums.shape(0) == targets,
            "add_block: of_targets, next and sums must have a number or a row for each target");
    require(sums.shape(1) <= block.shape(1), "add_block: sums must have no more columns than the block");
    require(!of_sources || of_sources->shape(0) == block.shape(0), "add_block: of_sources must have a number for each row");
    require(!of_edges || of_edges->shape(0) == sources.shape(0), "add_block: of_edges must have a number for each source");
    marius::add_block<Id>(
        {indptr.data(), size(targets), sources.data(), size(sources.shape(0))}, rows_of(block, "block"), first,
        {of_targets.data(), of_sources ? of_sources->data() : nullptr, without, of_edges ? of_edges->data() : nullptr},
        next.data(), {sums.data(), size(targets), size(sums.shape(1))}, size(sums.shape(1)), threads);
}

template <class Id> void bind_add_block(nb::module_& m) {
    m.def(
        "add_block", &add_block<Id>, "block"_a.noconvert(), "first"_a, "indptr"_a.noconvert(), "sources"_a.noconvert(),
        "of_targets"_a.noconvert(), "next"_a.noconvert(), "sums"_a.noconvert(), "of_sources"_a.noconvert() = nb::none(),
        "without"_a = -1, "of_edges"_a.noconvert() = nb::none(), "threads"_a = 0,
        "Add to sums, float32 (t, d), the rows of the nodes first, first + 1, ... in block, float32 (n, w), d <= w: of_targets[t] "
        "* of_sources[n] times, for each edge of t from them. sources: node ids, ascending in each list; next: int64 (t,), the "
        "edges from which on lists go on, moved on. Blocks must come in order. without: the node of target 0, where edges from "
        "a node to itself are left out. of_edges: float32 (edges,), numbers that each edge counts besides. The same bits however nodes "
        "are cut into blocks.",
        Release());
}

template <class Index, class X, class Y> void bind_forward(nb::module_& m, const char* text) {
    m.def("neighbour_sum", &neighbour_sum<Index, X, Y>, "x"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "out"_a.noconvert(), "weights"_a.noconvert() = nb::none(), "mean"_a = false, "own"_a.noconvert() = nb::none(),
          "threads"_a = 0, text, Release());
}

template <class Index, class X> void bind_backward(nb::module_& m, const char* text) {
    m.def("neighbour_sum_backward", &neighbour_sum_backward<Index, X>, "grad"_a.noconvert(), "indptr"_a.noconvert(),
          "indices"_a.noconvert(), "out"_a.noconvert(), "weights"_a.noconvert() = nb::none(), "mean"_a = false,
          "own"_a.noconvert() = nb::none(), "base"_a.noconvert() = nb::none(), "threads"_a = 0, text, Release());
}

template <class Index> void bind_neighbour_sums(nb::module_& m) {
    bind_forward<Index, float, float>(
        m,
        "out[t] = sum, or mean, of weights[e] * x[indices[e]] over e in indptr[t]:indptr[t+1], plus own[t] * x[t]. float32 (s, w), "
        "int64 (t+1,), int32 or int64 (e,), float32 (t, d), float32 (e,), float32 (t,); d <= w.");
    bind_forward<Index, float, BrainBits>(m, "The same, rounded to bfloat16, of which out has the bits.");
    bind_forward<Index, BrainBits, BrainBits>(m, "The same of rows of bfloat16.");
    bind_backward<Index, float>(
        m,
        "From the gradient of neighbour_sum's targets, float32 (t, d), that of its sources, out (s, d), plus base (b, d) in the "
        "first b rows. The same bits for any number of threads.");
    bind_backward<Index, BrainBits>(m, "The same of rows of bfloat16.");
}

}  // namespace

void bind_neighbours(nanobind::module_& m) {
    bind_neighbour_sums<std::int32_t>(m);
    bind_neighbour_sums<std::int64_t>(m);
    bind_add_block<std::uint32_t>(m);
    bind_add_block<std::uint64_t>(m);
}
