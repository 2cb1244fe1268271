// The functions that each build of distance_loops.h offers. Each call computes a block of results that no other call writes.
#pragma once
#include "score/distances.h"

namespace marius {

constexpr std::int64_t terms_at_once = 8;  // of gradients in a call: what it needs stays in a core's own caches

constexpr std::int64_t group_most = 32;  // candidates whose columns are packed for a block of scores, at most

struct DistanceFunctions {
    int parts;  // numbers of a row that make one term of the distance, dim / parts apart

    // scores of queries [top, bottom) with candidates [left, right). packed: room for dim * group_most numbers.
    void (*scores)(const DistanceTile& tile, std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right,
                   float* scores, float* packed);
    // The columns of d_query and d_candidates that belong to the terms [first, last), terms_at_once at most.
    void (*gradients)(const DistanceTile& tile, std::int64_t first, std::int64_t last, const float* d_scores, float* d_query,
                      float* d_candidates);
};

struct DistanceKernels {
    int width;  // float32 numbers in a vector
    DistanceFunctions l1, complex_l2;
};

extern const DistanceKernels distances_of_4;
#if defined(__x86_64__)
extern const DistanceKernels distances_of_8, distances_of_16;
#endif

}  // namespace marius
