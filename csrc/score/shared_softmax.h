// Softmax loss of queries that share their negatives, with products of bfloat16 and no array of scores.
//
// A query's scores are its inner products with every candidate, both rounded to bfloat16, summed in float32. They are computed
// twice, once for the sums of their exponentials and once for the gradients, so that none is ever stored. Memory beyond a core's
// caches is then read and written once for each candidate's row, not once for each score.
#pragma once
#include <cstdint>

namespace marius {

struct SharedSoftmax {
    const float* query;  // (queries, dim)
    std::int64_t queries;
    const float* candidates;  // (count, dim)
    std::int64_t count, dim;
    const float* positive;  // (queries): the score of each query's own positive, which counts beside the candidates
    // Pairs that are no negatives of each other, ordered by candidate.
    const std::int64_t *hidden_queries, *hidden_candidates;
    std::int64_t hidden;
};

struct SharedSoftmaxGradients {
    float* losses;        // (queries): log(sum of exp(scores)) - positive
    float* d_positive;    // (queries): the positive's share - 1
    float* d_query;       // (queries, dim): of the candidates' scores
    float* d_candidates;  // (count, dim)
    bool add;             // to d_candidates, instead of setting them
};

// Whether the processor can do it, and the operating system lets this process use what it needs.
bool shared_softmax_usable();

// Computes losses and gradients. A NaN score makes its query's loss NaN. The same number of threads gives the same bits.
void shared_softmax(const SharedSoftmax& batch, const SharedSoftmaxGradients& out, int threads);

}  // namespace marius
