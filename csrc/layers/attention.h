// The attention of GATv2 (Brody et al., ICLR 2022), without an array of a row for each edge.
//
// Target t attends to itself and to the sources of its edges indptr[t] .. indptr[t + 1] - 1, those of edges from itself left
// out. A row has the numbers of all heads side by side, `width` of each. Of head h, source s has for target t
//     the score    vector_h . leaky(left_s + right_t), where leaky(z) is z above 0 and slope * z below,
//     the weight   softmax of the scores among all that t attends to, times `kept`,
// and out_t is the sum of weight * left_s. Rows are float32, or the bits of bfloat16 (rows.h); sums are float32.
//
// What t attends to has the places indptr[t] + t, ...: first its edges in order, then t itself. Left out edges leave the last
// places unused. So there are edges + targets places.
#pragma once
#include <cstdint>
#include <vector>

#include "layers/attention_kernels.h"
#include "layers/rows.h"

namespace marius {

template <class Index> struct Attention {
    const std::int64_t* indptr;  // (targets + 1), ascending
    std::int64_t targets;
    const Index* indices;  // Index is int32 or int64
    std::int64_t edges, sources;
    Heads heads;
    const float* kept = nullptr;  // (edges + targets, heads), or null: all 1
};

// The kernels that this processor can run, those with the widest vectors first.
const std::vector<const AttentionKernels*>& usable_attention_kernels();

// weights: (edges + targets, heads) softmaxes without `kept`, for the backward pass; null where they are not needed.
// Throws std::invalid_argument for an edge or a source out of range.
template <class Index, class Number>
void attend(const Attention<Index>& attention, Rows<const Number> left, Rows<const Number> right, Rows<Number> out,
            float* weights, int threads, const AttentionKernels& kernels);

template <class Number> struct AttentionGrads {
    Rows<Number> left, right;
    float* vector;  // (heads * width)
};

// Sets the gradients of left, right and the vector from that of out, `grad`, and the weights of the forward pass. Every sum has
// an order that does not depend on the number of threads.
template <class Index, class Number>
void attend_backward(const Attention<Index>& attention, Rows<const Number> left, Rows<const Number> right,
                     Rows<const Number> grad, const float* weights, const AttentionGrads<Number>& grads, int threads,
                     const AttentionKernels& kernels);

}  // namespace marius
