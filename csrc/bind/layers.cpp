// The attention and products of graph neural networks for Python. Rows of bfloat16 are given as their bits, uint16.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bind/arrays.h"
#include "layers/attention.h"
#include "layers/weight_gradient.h"

using namespace nanobind::literals;

namespace {

using namespace marius::bind;

template <class T> using Maybe = std::optional<In<T, 2>>;

const marius::AttentionKernels& kernels_of(int width) {
    for (const marius::AttentionKernels* kernels : marius::usable_attention_kernels())
        if (width == 0 || kernels->width == width) return *kernels;
    throw std::invalid_argument("attend: this processor has no vectors of so many numbers");
}

template <class T> marius::Rows<T> rows_of(const nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& array) {
    return {array.data(), static_cast<std::int64_t>(array.shape(0)), static_cast<std::int64_t>(array.shape(1))};
}

template <class Index>
marius::Attention<Index> attention_of(const In<std::int64_t>& indptr, const In<Index>& indices, std::size_t sources,
                                      const In<float, 2>& vector, float slope, const Maybe<float>& kept) {
    require(indptr.shape(0) >= 1, "attend: indptr is empty");
    const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    const std::size_t targets = indptr.shape(0) - 1, places = indices.shape(0) + targets;
    require(!kept || (kept->shape(0) == places && kept->shape(1) == vector.shape(0)),
            "attend: kept must have a row for each edge and target, and a number for each head");
    return {indptr.data(),
            size(targets),
            indices.data(),
            size(indices.shape(0)),
            size(sources),
            {size(vector.shape(0)), size(vector.shape(1)), slope, vector.data()},
            kept ? kept->data() : nullptr};
}

template <class Index, class X>
void check(const marius::Attention<Index>& a, const In<X, 2>& left, const In<X, 2>& right, std::size_t rows,
           std::size_t columns) {
    const auto dim = static_cast<std::size_t>(a.heads.row()), targets = static_cast<std::size_t>(a.targets);
    require(left.shape(1) == dim && right.shape(1) == dim && columns == dim,
            "attend: left, right, out and grad must have heads * width columns");
    require(right.shape(0) == targets && rows == targets, "attend: right, out and grad must have a row for each target");
}

template <class Index, class X>
void attend(In<X, 2> left, In<X, 2> right, In<std::int64_t> indptr, In<Index> indices, In<float, 2> vector, float slope,
            Out<X, 2> out, std::optional<Out<float, 2>> weights, Maybe<float> kept, int width, int threads) {
    const auto attention = attention_of(indptr, indices, left.shape(0), vector, slope, kept);
    check(attention, left, right, out.shape(0), out.shape(1));
    require(!weights || (weights->shape(0) == indices.shape(0) + right.shape(0) && weights->shape(1) == vector.shape(0)),
            "attend: weights must have a row for each edge and target, and a number for each head");
    marius::attend(attention, rows_of(left), rows_of(right), rows_of(out), weights ? weights->data() : nullptr, threads,
                   kernels_of(width));
}

template <class Index, class X>
void attend_backward(In<X, 2> left, In<X, 2> right, In<std::int64_t> indptr, In<Index> indices, In<float, 2> vector, float slope,
                     In<X, 2> grad, In<float, 2> weights, Out<X, 2> d_left, Out<X, 2> d_right, Out<float, 2> d_vector,
                     Maybe<float> kept, int width, int threads) {
    const auto attention = attention_of(indptr, indices, left.shape(0), vector, slope, kept);
    check(attention, left, right, grad.shape(0), grad.shape(1));
    require(weights.shape(0) == indices.shape(0) + right.shape(0) && weights.shape(1) == vector.shape(0),
            "attend_backward: weights must be those of attend");
    require(d_left.shape(0) == left.shape(0) && d_left.shape(1) == left.shape(1) && d_right.shape(0) == right.shape(0) &&
                d_right.shape(1) == right.shape(1) && d_vector.shape(0) == vector.shape(0) &&
                d_vector.shape(1) == vector.shape(1),
            "attend_backward: a gradient must have the shape of what it is of");
    marius::attend_backward(attention, rows_of(left), rows_of(right), rows_of(grad), weights.data(),
                            {rows_of(d_left), rows_of(d_right), d_vector.data()}, threads, kernels_of(width));
}

template <class Index, class X> void bind_attention(nb::module_& m) {
    m.def("attend", &attend<Index, X>, "left"_a.noconvert(), "right"_a.noconvert(), "indptr"_a.noconvert(),
          "indices"_a.noconvert(), "vector"_a.noconvert(), "slope"_a, "out"_a.noconvert(), "weights"_a.noconvert() = nb::none(),
          "kept"_a.noconvert() = nb::none(), "width"_a = 0, "threads"_a = 0,
          "GATv2: out (t, heads * d) from left (s, heads * d) and right (t, heads * d), float32 or the bits of bfloat16; vector "
          "(heads, d); weights and kept (edges + t, heads). width: numbers in a vector, of attention_widths.",
          Release());
    m.def(
        "attend_backward", &attend_backward<Index, X>, "left"_a.noconvert(), "right"_a.noconvert(), "indptr"_a.noconvert(),
        "indices"_a.noconvert(), "vector"_a.noconvert(), "slope"_a, "grad"_a.noconvert(), "weights"_a.noconvert(),
        "d_left"_a.noconvert(), "d_right"_a.noconvert(), "d_vector"_a.noconvert(), "kept"_a.noconvert() = nb::none(),
        "width"_a = 0, "threads"_a = 0,
        "The gradients of left, right and vector, from grad, that of out, and attend's weights. The same bits for any number of "
        "threads.",
        Release());
}

using Brains = In<marius::BrainBits, 2>;

void weight_gradient(Brains grad, Brains rows, Out<float, 2> weight, Out<float> bias, std::optional<Brains> rectified,
                     int threads) {
    require(marius::weight_gradient_usable(), "weight_gradient: this processor does not multiply bfloat16");
    require(grad.shape(0) == rows.shape(0), "weight_gradient: grad and rows must have as many rows");
    require(
        weight.shape(0) == grad.shape(1) && weight.shape(1) == rows.shape(1) && bias.shape(0) == grad.shape(1),
        "weight_gradient: weight must have a row, and bias a number, for each column of grad; weight a column for each of rows");
    require(!rectified || (rectified->shape(0) == grad.shape(0) && rectified->shape(1) == grad.shape(1)),
            "weight_gradient: rectified must have the shape of grad");
    marius::weight_gradient({rows_of(grad), rows_of(rows), rectified ? rectified->data() : nullptr,
                             static_cast<std::int64_t>(grad.shape(1)), static_cast<std::int64_t>(rows.shape(1))},
                            weight.data(), bias.data(), threads);
}

}  // namespace

void bind_layers(nanobind::module_& m) {
    bind_attention<std::int32_t, float>(m);
    bind_attention<std::int64_t, float>(m);
    bind_attention<std::int32_t, std::uint16_t>(m);
    bind_attention<std::int64_t, std::uint16_t>(m);
    m.def(
        "attention_widths",
        [] {
            std::vector<int> widths;
            for (const marius::AttentionKernels* kernels : marius::usable_attention_kernels()) widths.push_back(kernels->width);
            return widths;
        },
        "Numbers in the vectors that attend may take on this processor, the widest, which are taken by default, first.");
    m.def("weight_gradient_usable", &marius::weight_gradient_usable,
          "Whether this processor has the instructions of weight_gradient.");
    m.def(
        "weight_gradient", &weight_gradient, "grad"_a.noconvert(), "rows"_a.noconvert(), "weight"_a.noconvert(),
        "bias"_a.noconvert(), "rectified"_a.noconvert() = nb::none(), "threads"_a = 0,
        "weight (o, i) = transpose of grad (n, o) times rows (n, i), bias (o,) = sum of grad; bits of bfloat16 in, float32 out. "
        "Where rectified (n, o) is not above 0, grad counts as 0. The same bits for the same number of threads.",
        Release());
}
