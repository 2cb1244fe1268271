// The parts of shared_softmax.cpp that are written for one kind of processor: a thread's work between two points where all wait.
#pragma once
#include "score/shared_softmax.h"

namespace marius {

constexpr std::int64_t block_rows = 256;  // candidates whose scores are worked out together: they stay in a core's cache

// Queries and numbers of dim are padded to so many with zeros.
constexpr std::int64_t pad = 32;
inline std::int64_t padded(std::int64_t count) { return (count + pad - 1) / pad * pad; }

struct PackedQueries {
    std::uint16_t *by_dim, *by_query;  // (padded queries) * (padded dim) each: for scores, for the candidates' gradients
};

// Of each query, padded: the highest score, and the sum of exp(score - highest) or what they are multiplied by to be shares.
struct Exponentials {
    float *highest, *sum;
};

struct Workspace {                                  // of one thread
    std::uint16_t *candidates, *candidates_by_row;  // block_rows * (padded dim) each
    std::uint16_t *shares, *shares_by_row;          // block_rows * (padded queries) each
    float* scores;                                  // block_rows * pad
    float* d_query;                                 // a block of (pad numbers of dim, pad queries) for each, queries outside
};

#if defined(MARIUS_AMX)
namespace amx {

bool usable();

// Packs the queries [first, last): multiples of `pad`, up to the padded number.
void pack_queries(const SharedSoftmax& batch, std::int64_t first, std::int64_t last, const PackedQueries& to);

// Adds the scores of candidates [first, last) to `sums`.
void add_exponentials(const SharedSoftmax& batch, const PackedQueries& packed, std::int64_t first, std::int64_t last,
                      const Exponentials& sums, const Workspace& work);

// The gradients of these candidates, and what they add to work.d_query.
void add_gradients(const SharedSoftmax& batch, const PackedQueries& packed, std::int64_t first, std::int64_t last,
                   const Exponentials& shares, const Workspace& work, const SharedSoftmaxGradients& out);

}  // namespace amx
#endif

}  // namespace marius
