// Losses of queries that share their negatives, and gradients, without an array of all scores.
//
// softmax: log(sum of exp(scores)) - score of the positive.
// logistic: softplus(-(margin + positive)) + the mean of softplus(margin + candidate).
// margin: the mean of max(0, margin + candidate - positive).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "score/shared_loss_kernels.h"

namespace marius {

// Queries are split among the chunks in order, ceil(queries / chunks) to each; those of a chunk share its candidates.
struct SharedLoss {
    const float *query, *positive;  // (queries, dim): each query, and the answer that counts beside the candidates
    std::int64_t queries;
    const float* candidates;  // (chunks, count, dim)
    std::int64_t chunks, count, dim;
    // Pairs that are no negatives of each other: a query, ascending, and a candidate of its chunk.
    const std::int64_t *hidden_queries, *hidden_candidates;
    std::int64_t hidden;
    // What is subtracted from the scores of positives (queries) and of candidates (chunks, count); null: nothing.
    const float *positive_corrections, *corrections;
    ClassCorrection by_class;  // classes (chunks, count)
    SharedLossTerms terms;

    std::int64_t in_chunk() const { return (queries + chunks - 1) / chunks; }
};

struct SharedLossGradients {
    float* losses;                // (queries)
    float *d_query, *d_positive;  // (queries, dim)
    float* d_candidates;          // (chunks, count, dim)
};

// One of the sides of a batch, which have the same shape, and each its own candidates.
struct SharedLossSide {
    SharedLoss batch;
    SharedLossGradients out;
};

// A way to compute it. All sum products in float32. Some round what is multiplied to bfloat16 first.
struct SharedLossWay {
    std::string name;
    bool rounds;
};

// The ways that this processor and its operating system allow, the fastest first.
const std::vector<SharedLossWay>& shared_loss_ways();

// Throws std::invalid_argument for the name of a way that is not among them. A NaN score makes its query's loss NaN. The same
// way and number of threads give the same bits, whatever other sides there are.
void shared_loss(const std::vector<SharedLossSide>& sides, const std::string& way, int threads);

}  // namespace marius
