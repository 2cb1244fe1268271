// The shared softmax of one chunk by the tiles of Intel's processors (AMX), with numbers rounded to bfloat16 and no scores stored.
//
// Scores are computed twice, once for the sums of their exponentials and once for the gradients: products cost so little there
// that memory beyond a core's caches, read and written once for each score, would cost more.
#pragma once
#include <cstdint>

#include "score/shared_loss_kernels.h"

namespace marius {

struct TileChunk {
    const float* query;  // (queries, dim)
    std::int64_t queries;
    const float* candidates;  // (count, dim)
    std::int64_t count, dim;
    const float* positive;  // (queries): the score of each query's own positive, which counts beside the candidates
    // Pairs that are no negatives of each other, ordered by candidate.
    const std::int64_t *hidden_queries, *hidden_candidates;
    std::int64_t hidden;
    const float* corrections;  // (count), subtracted from scores; null: nothing
    ClassCorrection by_class;
};

struct TileGradients {
    float* losses;        // (queries): log(sum of exp(scores)) - positive
    float* d_positive;    // (queries): the positive's share - 1
    float* d_query;       // (queries, dim): of the candidates' scores
    float* d_candidates;  // (count, dim)
    bool add;             // to d_candidates, instead of setting them
};

// Computes losses and gradients of at least one query. The same number of threads gives the same bits.
void shared_softmax_by_tiles(const TileChunk& chunk, const TileGradients& out, int threads);

// ---- what is written for such processors: a thread's work between two points where all wait ----

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
void pack_queries(const TileChunk& chunk, std::int64_t first, std::int64_t last, const PackedQueries& to);

// Adds the scores of candidates [first, last) to `sums`.
void add_exponentials(const TileChunk& chunk, const PackedQueries& packed, std::int64_t first, std::int64_t last,
                      const Exponentials& sums, const Workspace& work);

// The gradients of these candidates, and what they add to work.d_query.
void add_gradients(const TileChunk& chunk, const PackedQueries& packed, std::int64_t first, std::int64_t last,
                   const Exponentials& shares, const Workspace& work, const TileGradients& out);

}  // namespace amx
#endif

}  // namespace marius
