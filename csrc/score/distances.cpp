#include "score/distances.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/parallel.h"
#include "score/distance_kernels.h"

namespace marius {
namespace {

constexpr std::int64_t block_queries = 512, block_candidates = 64;  // of the block of scores that one thread computes at a time

const DistanceFunctions& functions_of(const DistanceKernels& kernels, Distance distance, std::int64_t dim) {
    const DistanceFunctions& functions = distance == Distance::l1 ? kernels.l1 : kernels.complex_l2;
    if (dim % functions.parts != 0)
        throw std::invalid_argument("distances: complex numbers need an even dim, found " + std::to_string(dim));
    return functions;
}

std::int64_t blocks(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

}  // namespace

const std::vector<const DistanceKernels*>& usable_distance_kernels() {
    static const std::vector<const DistanceKernels*> usable = [] {
        std::vector<const DistanceKernels*> found;
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx512f")) found.push_back(&distances_of_16);
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(&distances_of_8);
#endif
        found.push_back(&distances_of_4);
        return found;
    }();
    return usable;
}

void distance_scores(Distance distance, const DistanceTile& tile, float* scores, int threads, const DistanceKernels& kernels) {
    const DistanceFunctions& functions = functions_of(kernels, distance, tile.dim);
    const std::int64_t tops = blocks(tile.queries, block_queries);
    parallel_for(tops * blocks(tile.count, block_candidates), 1, threads, [&](std::int64_t begin, std::int64_t end) {
        const std::unique_ptr<float[]> packed(new float[tile.dim * group_most]);
        for (std::int64_t block = begin; block < end; ++block) {
            const std::int64_t top = block % tops * block_queries, left = block / tops * block_candidates;
            functions.scores(tile, top, std::min(top + block_queries, tile.queries), left,
                             std::min(left + block_candidates, tile.count), scores, packed.get());
        }
    });
}

void distance_gradients(Distance distance, const DistanceTile& tile, const float* d_scores, float* d_query, float* d_candidates,
                        int threads, const DistanceKernels& kernels) {
    const DistanceFunctions& functions = functions_of(kernels, distance, tile.dim);
    if (tile.count == 0) std::fill_n(d_query, tile.queries * tile.dim, 0.0f);
    const std::int64_t terms = tile.dim / functions.parts, used = threads > 0 ? threads : default_threads();
    const std::int64_t grain = std::clamp<std::int64_t>(terms / (4 * used), 1, terms_at_once);
    parallel_for(terms, grain, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t first = begin; first < end; first += terms_at_once)
            functions.gradients(tile, first, std::min(first + terms_at_once, end), d_scores, d_query, d_candidates);
    });
}

}  // namespace marius
