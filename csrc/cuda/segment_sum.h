// Sums the gradients of equal rows, in the order of their positions, with the same bits as csrc/rows/segment_sum.cpp.
#pragma once
#include <cstdint>

#include "cuda/api.h"
#include "cuda/memory.h"
#include "cuda/place.h"

namespace marius {

struct SegmentSum {
    marius_cuda_part parts[MARIUS_CUDA_PARTS];
    const std::int32_t *order, *starts;
    float* out;
    std::int64_t segments, dim, vectors;  // vectors: of one row
    int part_count, lane_bits, vector_elements;
};

MARIUS_BOTH const float* gradient(const SegmentSum& job, std::int64_t position) {
    int part = 0;
    for (; part + 1 < job.part_count && position >= job.parts[part].count; ++part) position -= job.parts[part].count;
    return job.parts[part].data + position * job.dim;
}

template <class Floats, class Memory>  // Floats: Vector
MARIUS_BOTH void segment_sum(const SegmentSum& job, const Place& place, Memory& memory) {
    constexpr int ahead = 8;  // gradients under way at once
    const Group group(place, job.lane_bits);
    for (std::int64_t s = group.index; s < job.segments; s += group.count) {
        const std::int32_t begin = job.starts[s], end = job.starts[s + 1];
        for (std::int64_t vector = group.lane; vector < job.vectors; vector += group.lanes) {
            const std::int64_t column = vector * Floats::elements;
            Floats sum = {};
            for (std::int32_t k = begin; k < end; k += ahead) {
                Floats grads[ahead];
#pragma unroll
                for (int a = 0; a < ahead; ++a)
                    if (a < end - k) grads[a] = memory.template load<Floats>(gradient(job, job.order[k + a]) + column);
#pragma unroll
                for (int a = 0; a < ahead; ++a)
#pragma unroll
                    for (int e = 0; e < Floats::elements; ++e)
                        if (a < end - k) sum.at[e] = k + a == begin ? grads[a].at[e] : sum.at[e] + grads[a].at[e];
            }
            memory.store(job.out + s * job.dim + column, sum);
        }
    }
}

}  // namespace marius
