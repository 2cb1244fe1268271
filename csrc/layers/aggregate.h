// Adds up, or averages, the rows of neighbours, without an array of a row for each edge.
#pragma once
#include <cstdint>

#include "layers/rows.h"

namespace marius {

// Target t receives from sources indices[indptr[t]] .. indices[indptr[t + 1] - 1]. Index is int32 or int64.
template <class Index> struct Neighbours {
    const std::int64_t* indptr;  // (targets + 1), ascending
    std::int64_t targets;
    const Index* indices;
    std::int64_t edges, sources;
    const float* weights;        // (edges), or null: all 1
    bool mean;                   // divide each target's sum by the number of its edges
    const float* own = nullptr;  // (targets), or null: what of each target's own row, that of the source t, is added
};

// out[t] = sum over t's edges e, in order, of weights[e] * x[indices[e]], for the first `dim` columns; 0 without edges; plus
// own[t] * x[t]. Rows are float32, or the bits of bfloat16 (rows.h): of x and out, or of out alone. Sums are float32.
// Throws std::invalid_argument for an edge or a source out of range.
template <class Index, class In = float, class Out = float>
void neighbour_sum(const Neighbours<Index>& graph, Rows<const In> x, Rows<Out> out, std::int64_t dim, int threads);

// The gradient of neighbour_sum with respect to the sources, from that with respect to the targets:
// out[s] = base[s] + own[s] * grad[s] + sum over the edges e from s, in order, of weights[e] * grad[target of e], whatever the
// number of threads. base: for sources below base.count only. Rows are float32, or all the bits of bfloat16.
template <class Index, class Number = float>
void neighbour_sum_backward(const Neighbours<Index>& graph, Rows<const Number> grad, Rows<const Number> base, Rows<Number> out,
                            std::int64_t dim, int threads);

}  // namespace marius
