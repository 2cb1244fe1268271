#include "rows/segment_sum.h"

#include <atomic>
#include <cstring>
#include <stdexcept>

#include "base/parallel.h"
#include "rows/vector.h"

namespace marius {
namespace {

constexpr std::int64_t ahead = 8;  // gradients requested before they are added
constexpr std::int64_t line = 16;  // floats in a cache line

MARIUS_VECTOR_CLONES
void add(float* __restrict sum, const float* __restrict grad, std::int64_t dim) {
    for (std::int64_t c = 0; c < dim; ++c) sum[c] += grad[c];
}

const float* grad_at(const std::vector<GradPart>& parts, std::int64_t position, std::int64_t dim) {
    for (const GradPart& part : parts) {
        if (position < part.count) return part.data + position * dim;
        position -= part.count;
    }
    return nullptr;
}

void request(const float* grad, std::int64_t dim) {
    for (std::int64_t at = 0; grad && at < dim; at += line) __builtin_prefetch(grad + at);
}

}  // namespace

void segment_sum(const std::vector<GradPart>& parts, const std::int32_t* order, std::int64_t positions,
                 const std::int32_t* starts, std::int64_t segments, float* out, std::int64_t dim, int threads) {
    std::atomic<bool> outside{false};
    parallel_for(segments, 64, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t s = begin; s < end; ++s) {
            float* sum = out + s * dim;
            if (starts[s] < 0 || starts[s] > starts[s + 1] || starts[s + 1] > positions) {
                outside = true;
                return;
            }
            for (std::int64_t k = starts[s]; k < starts[s + 1]; ++k) {
                const float* grad = order[k] < 0 ? nullptr : grad_at(parts, order[k], dim);
                if (!grad) {
                    outside = true;
                    return;
                }
                if (k + ahead < positions && order[k + ahead] >= 0) request(grad_at(parts, order[k + ahead], dim), dim);
                if (k == starts[s]) std::memcpy(sum, grad, dim * sizeof(float));
                else add(sum, grad, dim);
            }
            if (starts[s] == starts[s + 1]) std::memset(sum, 0, dim * sizeof(float));
        }
    });
    if (outside) throw std::invalid_argument("segment_sum: order or starts name positions outside the gradients");
}

}  // namespace marius
