#include "rows/steps.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "base/parallel.h"
#include "rows/vector.h"

namespace marius {
namespace {

constexpr std::int64_t ahead = 4;  // records requested before they are changed
constexpr std::int64_t line = 16;  // floats in a cache line

void check(const RowStep& step, std::int64_t state_columns) {
    if (step.width < step.dim + state_columns)
        throw std::invalid_argument("row step: records of " + std::to_string(step.width) + " columns, " +
                                    std::to_string(step.dim + state_columns) + " needed");
    for (std::int64_t i = 0; i < step.count; ++i) {
        const std::int64_t row = step.rows[i];
        if (row < 0 || row >= step.table_rows)
            throw std::invalid_argument("row step: row " + std::to_string(row) + " is outside the table of " +
                                        std::to_string(step.table_rows) + " rows");
        if (i > 0 && row <= step.rows[i - 1])
            throw std::invalid_argument("row step: rows must ascend, " + std::to_string(row) + " follows " +
                                        std::to_string(step.rows[i - 1]));
    }
}

template <class Change>
void for_each_row(const RowStep& step, std::int64_t state_columns, Change change) {
    check(step, state_columns);
    parallel_for(step.count, 128, step.threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            if (i + ahead < end) {
                const float* coming = step.table + step.rows[i + ahead] * step.width;
                for (std::int64_t at = 0; at < step.dim + state_columns; at += line) __builtin_prefetch(coming + at, 1);
            }
            float* value = step.table + step.rows[i] * step.width;
            change(value, value + step.dim, step.grads + i * step.dim);
        }
    });
}

// Sixteen partial sums in a fixed order: the same result for every vector width.
__attribute__((always_inline)) inline float sum_of_squares(const float* x, std::int64_t n) {
    float lanes[16] = {};
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int lane = 0; lane < 16; ++lane) lanes[lane] += x[i + lane] * x[i + lane];
    for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += x[i] * x[i];
    for (int half = 8; half > 0; half /= 2)
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

MARIUS_VECTOR_CLONES
void subtract_scaled(float* __restrict value, const float* __restrict grad, std::int64_t dim, float scale) {
    for (std::int64_t c = 0; c < dim; ++c) value[c] -= scale * grad[c];
}

MARIUS_VECTOR_CLONES
float mean_square(const float* grad, std::int64_t dim) {
    return dim > 0 ? sum_of_squares(grad, dim) / static_cast<float>(dim) : 0.0f;
}

MARIUS_VECTOR_CLONES
void adagrad_row(float* __restrict value, float* __restrict sums, const float* __restrict grad, std::int64_t dim,
                 float lr, float eps) {
    for (std::int64_t c = 0; c < dim; ++c) {
        sums[c] += grad[c] * grad[c];
        value[c] -= lr * grad[c] / (__builtin_sqrtf(sums[c]) + eps);
    }
}

struct AdamFactors {
    float beta1, beta2, eps, rate, root;  // rate: lr over the first correction; root: sqrt of the second one
};

MARIUS_VECTOR_CLONES
void adam_row(float* __restrict value, float* __restrict first, float* __restrict second,
              const float* __restrict grad, std::int64_t dim, AdamFactors f) {
    for (std::int64_t c = 0; c < dim; ++c) {
        first[c] = f.beta1 * first[c] + (1.0f - f.beta1) * grad[c];
        second[c] = f.beta2 * second[c] + (1.0f - f.beta2) * (grad[c] * grad[c]);
        value[c] -= f.rate * first[c] / (__builtin_sqrtf(second[c]) / f.root + f.eps);
    }
}

}  // namespace

void sgd_step(const RowStep& step, float lr) {
    for_each_row(step, 0, [&](float* value, float*, const float* grad) { subtract_scaled(value, grad, step.dim, lr); });
}

void row_adagrad_step(const RowStep& step, float lr, float eps) {
    for_each_row(step, 1, [&](float* value, float* state, const float* grad) {
        *state += mean_square(grad, step.dim);
        subtract_scaled(value, grad, step.dim, lr / (std::sqrt(*state) + eps));
    });
}

void adagrad_step(const RowStep& step, float lr, float eps) {
    for_each_row(step, step.dim, [&](float* value, float* state, const float* grad) {
        adagrad_row(value, state, grad, step.dim, lr, eps);
    });
}

void adam_step(const RowStep& step, float lr, float beta1, float beta2, float eps) {
    for_each_row(step, 2 * step.dim + 1, [&](float* value, float* state, const float* grad) {
        float& steps = state[2 * step.dim];
        steps += 1.0f;
        const double first = 1.0 - std::pow(static_cast<double>(beta1), static_cast<double>(steps));
        const double second = 1.0 - std::pow(static_cast<double>(beta2), static_cast<double>(steps));
        const AdamFactors factors{beta1, beta2, eps, static_cast<float>(lr / first),
                                  static_cast<float>(std::sqrt(second))};
        adam_row(value, state, state + step.dim, grad, step.dim, factors);
    });
}

}  // namespace marius
