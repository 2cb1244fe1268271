// What one step of each row optimizer computes, for CPU and GPU alike: the same operations in the same order, each
// rounded once, so that both give the same bits (the payload of NaNs aside). Built without fused products and sums.
#pragma once
#include <cstdint>

#include "base/both.h"

namespace marius::formulas {

MARIUS_BOTH float root(float x) {
#if defined(__CUDA_ARCH__)
    return __fsqrt_rn(x);
#else
    return __builtin_sqrtf(x);
#endif
}

MARIUS_BOTH double root(double x) {
#if defined(__CUDA_ARCH__)
    return __dsqrt_rn(x);
#else
    return __builtin_sqrt(x);
#endif
}

// base to the power of a count of steps, by repeated squaring. A float counts to 2^24 and stays there.
MARIUS_BOTH double power(double base, float steps) {
    double result = 1.0;
    for (std::uint32_t n = !(steps > 0.0f) ? 0 : steps < 16777216.0f ? static_cast<std::uint32_t>(steps) : 16777216; n;
         n >>= 1, base *= base)
        if (n & 1) result *= base;
    return result;
}

// Sixteen partial sums in a fixed order: the same result for every vector width.
MARIUS_BOTH float sum_of_squares(const float* x, std::int64_t n) {
    float lanes[16] = {};
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16)
#pragma unroll
        for (int lane = 0; lane < 16; ++lane) lanes[lane] += x[i + lane] * x[i + lane];
#pragma unroll
    for (int lane = 0; lane < 16; ++lane)
        if (i + lane < n) lanes[lane] += x[i + lane] * x[i + lane];
#pragma unroll
    for (int bit = 3; bit >= 0; --bit)
#pragma unroll
        for (int lane = 0; lane < 8; ++lane)
            if (lane < 1 << bit) lanes[lane] += lanes[lane + (1 << bit)];
    return lanes[0];
}

MARIUS_BOTH float mean_square(const float* grad, std::int64_t dim) {
    return dim > 0 ? sum_of_squares(grad, dim) / static_cast<float>(dim) : 0.0f;
}

MARIUS_BOTH float adagrad_scale(float sum, float lr, float eps) { return lr / (root(sum) + eps); }

MARIUS_BOTH void descend(float& value, float grad, float scale) { value -= scale * grad; }

MARIUS_BOTH void adagrad(float& value, float& sum, float grad, float lr, float eps) {
    sum += grad * grad;
    value -= lr * grad / (root(sum) + eps);
}

struct AdamFactors {
    float beta1, beta2, eps, rate, root;  // rate: lr over the first correction; root: sqrt of the second one
};

// The factors of a row's step number `steps`, the first one being 1.
MARIUS_BOTH AdamFactors adam_factors(float steps, float lr, float beta1, float beta2, float eps) {
    const double first = 1.0 - power(beta1, steps), second = 1.0 - power(beta2, steps);
    return {beta1, beta2, eps, static_cast<float>(lr / first), static_cast<float>(root(second))};
}

MARIUS_BOTH void adam(float& value, float& first, float& second, float grad, const AdamFactors& f) {
    first = f.beta1 * first + (1.0f - f.beta1) * grad;
    second = f.beta2 * second + (1.0f - f.beta2) * (grad * grad);
    value -= f.rate * first / (root(second) / f.root + f.eps);
}

}  // namespace marius::formulas
