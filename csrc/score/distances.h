// Computes the negated distances of every query to every candidate, and their gradients, without an array of differences.
//
// Rows are contiguous. Each score and each sum is computed by the same operations in the same order, wherever it is in a tile and
// for any number of threads. Vectors of other widths use other estimates of roots, so bits may differ between processors, by
// float32's rounding. A difference whose square overflows float32 gives NaN.
#pragma once
#include <cstdint>
#include <vector>

namespace marius {

enum class Distance {
    l1,          // sum |q - c|
    complex_l2,  // sum of the moduli of dim / 2 complex differences; real parts first, imaginary parts after
};

struct DistanceTile {
    const float* query;  // (queries, dim)
    std::int64_t queries;
    const float* candidates;  // (count, dim)
    std::int64_t count, dim;
};

struct DistanceKernels;  // one implementation, for vectors of one width

// The implementations that this processor can run, the widest vectors first.
const std::vector<const DistanceKernels*>& usable_distance_kernels();

// scores (queries, count). Throws std::invalid_argument where complex numbers have an odd dim.
void distance_scores(Distance distance, const DistanceTile& tile, float* scores, int threads,
                     const DistanceKernels& kernels = *usable_distance_kernels().front());

// From d_scores (queries, count): sets d_query (queries, dim), adds to d_candidates (count, dim). A difference of zero
// has direction zero.
void distance_gradients(Distance distance, const DistanceTile& tile, const float* d_scores, float* d_query, float* d_candidates,
                        int threads, const DistanceKernels& kernels = *usable_distance_kernels().front());

}  // namespace marius
