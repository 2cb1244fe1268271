#include "rows/steps.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/parallel.h"
#include "rows/formulas.h"
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

MARIUS_VECTOR_CLONES
void descend_row(float* __restrict value, const float* __restrict grad, std::int64_t dim, float scale) {
    for (std::int64_t c = 0; c < dim; ++c) formulas::descend(value[c], grad[c], scale);
}

MARIUS_VECTOR_CLONES
float mean_square(const float* grad, std::int64_t dim) { return formulas::mean_square(grad, dim); }

MARIUS_VECTOR_CLONES
void adagrad_row(float* __restrict value, float* __restrict sums, const float* __restrict grad, std::int64_t dim,
                 float lr, float eps) {
    for (std::int64_t c = 0; c < dim; ++c) formulas::adagrad(value[c], sums[c], grad[c], lr, eps);
}

MARIUS_VECTOR_CLONES
void adam_row(float* __restrict value, float* __restrict first, float* __restrict second,
              const float* __restrict grad, std::int64_t dim, formulas::AdamFactors factors) {
    for (std::int64_t c = 0; c < dim; ++c) formulas::adam(value[c], first[c], second[c], grad[c], factors);
}

}  // namespace

void sgd_step(const RowStep& step, float lr) {
    for_each_row(step, 0, [&](float* value, float*, const float* grad) { descend_row(value, grad, step.dim, lr); });
}

void row_adagrad_step(const RowStep& step, float lr, float eps) {
    for_each_row(step, 1, [&](float* value, float* state, const float* grad) {
        *state += mean_square(grad, step.dim);
        descend_row(value, grad, step.dim, formulas::adagrad_scale(*state, lr, eps));
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
        const formulas::AdamFactors factors = formulas::adam_factors(steps, lr, beta1, beta2, eps);
        adam_row(value, state, state + step.dim, grad, step.dim, factors);
    });
}

}  // namespace marius
