// Softmax loss of queries that share their negatives: losses and gradients, without an array of all scores.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace marius {

// Queries are split among the chunks in order, ceil(queries / chunks) to each; those of a chunk share its candidates.
struct SharedSoftmax {
    const float *query, *positive;  // (queries, dim): each query, and the answer that counts beside the candidates
    std::int64_t queries;
    const float* candidates;  // (chunks, count, dim)
    std::int64_t chunks, count, dim;
    // Pairs that are no negatives of each other: a query, ascending, and a candidate of its chunk.
    const std::int64_t *hidden_queries, *hidden_candidates;
    std::int64_t hidden;
    // What is subtracted from the scores of positives (queries) and of candidates (chunks, count); null: nothing.
    const float *positive_corrections, *corrections;

    std::int64_t in_chunk() const { return (queries + chunks - 1) / chunks; }
};

struct SharedSoftmaxGradients {
    float* losses;                // (queries): log(sum of exp(scores)) - score of the positive
    float *d_query, *d_positive;  // (queries, dim)
    float* d_candidates;          // (chunks, count, dim)
};

// A way to compute it. All sum products in float32. Some round what is multiplied to bfloat16 first.
struct SharedSoftmaxWay {
    std::string name;
    bool rounds;
};

// The ways that this processor and its operating system allow, the fastest first.
const std::vector<SharedSoftmaxWay>& shared_softmax_ways();

// Throws std::invalid_argument for the name of a way that is not among them. A NaN score makes its query's loss NaN. The same
// way and number of threads give the same bits.
void shared_softmax(const SharedSoftmax& batch, const SharedSoftmaxGradients& out, const std::string& way, int threads);

}  // namespace marius
