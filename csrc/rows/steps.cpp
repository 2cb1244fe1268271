#include "rows/steps.h"

#include <algorithm>
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

template <class Optimizer>
MARIUS_BOTH void change_columns(float* __restrict value, float* __restrict first, float* __restrict second,
                                const float* __restrict grad, std::int64_t dim, typename Optimizer::Factors factors) {
    for (std::int64_t c = 0; c < dim; ++c) {
        float state[2] = {};
        if constexpr (Optimizer::per_value > 0) state[0] = first[c];
        if constexpr (Optimizer::per_value > 1) state[1] = second[c];
        Optimizer::change(value[c], state, grad[c], factors);
        if constexpr (Optimizer::per_value > 0) first[c] = state[0];
        if constexpr (Optimizer::per_value > 1) second[c] = state[1];
    }
}

// A function of its own for each optimizer: not every compiler makes clones of templates.
#define MARIUS_CHANGE_ROW(Optimizer)                                                                      \
    MARIUS_VECTOR_CLONES                                                                                  \
    void change_row(formulas::Optimizer, float* value, float* state, const float* grad, std::int64_t dim, \
                    const formulas::Rates& rates) {                                                       \
        float* const once = state + formulas::Optimizer::per_value * dim;                                 \
        const auto factors = formulas::factors_now<formulas::Optimizer>(once, grad, dim, rates);          \
        change_columns<formulas::Optimizer>(value, state, state + dim, grad, dim, factors);               \
    }
MARIUS_ROW_OPTIMIZERS(MARIUS_CHANGE_ROW)
#undef MARIUS_CHANGE_ROW

}  // namespace

void row_step(std::string_view name, const RowStep& step, const formulas::Rates& rates) {
    formulas::check_optimizer(name);
    formulas::with_optimizer(name, [&](auto optimizer) {
        const std::int64_t columns = formulas::state_columns<decltype(optimizer)>(step.dim);
        for_each_row(step, columns, [&](float* value, float* state, const float* grad) {
            change_row(optimizer, value, state, grad, step.dim, rates);
        });
    });
}

}  // namespace marius
