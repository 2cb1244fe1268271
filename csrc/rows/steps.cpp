#include "rows/steps.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "base/parallel.h"
#include "rows/bfloat16.h"
#include "rows/vector.h"

namespace marius {
namespace {

constexpr std::int64_t ahead = 4;   // records requested before they are changed
constexpr std::int64_t line = 64;   // bytes in a cache line
constexpr std::int64_t some = 256;  // columns of bfloat16 that are changed at a time, in the first cache

template <class Column> void check(const RowStep<Column>& step, std::int64_t columns) {
    if (step.width < columns)
        throw std::invalid_argument("row step: records of " + std::to_string(step.width) + " columns, " +
                                    std::to_string(columns) + " needed");
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

// Calls change(record, gradient) for each row. `columns`: those of a record.
template <class Column, class Change>
void for_each_row(const RowStep<Column>& step, std::int64_t columns, Change change) {
    check(step, columns);
    parallel_for(step.count, 128, step.threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            if (i + ahead < end) {
                const Column* coming = step.table + step.rows[i + ahead] * step.width;
                for (std::int64_t at = 0; at < columns; at += line / sizeof(Column)) __builtin_prefetch(coming + at, 1);
            }
            change(step.table + step.rows[i] * step.width, step.grads + i * step.dim);
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

// The key of a row's chances: two rows are rounded by the same ones only where records and gradients are the same.
inline std::uint32_t key_of_row(std::uint32_t key, const std::uint16_t* record, std::int64_t columns, const float* grad,
                                std::int64_t dim) {
    std::uint32_t sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) sum += record[c] * (2 * static_cast<std::uint32_t>(c) + 0x9e3779b1u);
    for (std::int64_t c = 0; c < dim; ++c)
        sum += std::bit_cast<std::uint32_t>(grad[c]) * (2 * static_cast<std::uint32_t>(c) + 0x85ebca6bu);
    return key ^ hashed(sum);
}

// Changes a record of bfloat16, some columns at a time.
template <class Optimizer>
inline void change_some(std::uint16_t* record, const float* grad, std::int64_t dim, const formulas::Rates& rates,
                        std::uint32_t key) {
    constexpr int parts = 1 + Optimizer::per_value;  // values, then each kind of state
    constexpr bool own = Optimizer::per_row > 0;
    float floats[3][some], once = 0.0f;
    const std::int64_t columns = parts * dim;
    key = key_of_row(key, record, columns + (own ? halves : 0), grad, dim);
    if constexpr (own) once = sum_of_halves(record + columns);
    const auto factors = formulas::factors_now<Optimizer>(&once, grad, dim, rates);
    for (std::int64_t first = 0; first < dim; first += some) {
        const std::int64_t count = std::min(some, dim - first);
        for (int part = 0; part < parts; ++part)
            for (std::int64_t c = 0; c < count; ++c) floats[part][c] = widened(record[part * dim + first + c]);
        change_columns<Optimizer>(floats[0], floats[1], floats[2], grad + first, count, factors);
        for (int part = 0; part < parts; ++part)
            for (std::int64_t c = 0, at = part * dim + first; c < count; ++c, ++at)
                record[at] = rounded_by_chance(floats[part][c], key_of_column(key, at));
    }
    if constexpr (own) split_into_halves(once, record + columns, key_of_column(key, columns));
}

// Functions of their own for each optimizer: not every compiler makes clones of templates.
#define MARIUS_CHANGE_ROW(Optimizer)                                                                      \
    MARIUS_VECTOR_CLONES                                                                                  \
    void change_row(formulas::Optimizer, float* value, float* state, const float* grad, std::int64_t dim, \
                    const formulas::Rates& rates) {                                                       \
        float* const once = state + formulas::Optimizer::per_value * dim;                                 \
        const auto factors = formulas::factors_now<formulas::Optimizer>(once, grad, dim, rates);          \
        change_columns<formulas::Optimizer>(value, state, state + dim, grad, dim, factors);               \
    }                                                                                                     \
    MARIUS_VECTOR_CLONES                                                                                  \
    void change_rounded(formulas::Optimizer, std::uint16_t* record, const float* grad, std::int64_t dim,  \
                        const formulas::Rates& rates, std::uint32_t key) {                                \
        change_some<formulas::Optimizer>(record, grad, dim, rates, key);                                  \
    }
MARIUS_ROW_OPTIMIZERS(MARIUS_CHANGE_ROW)
#undef MARIUS_CHANGE_ROW

}  // namespace

void row_step(std::string_view name, const RowStep<float>& step, const formulas::Rates& rates) {
    formulas::check_optimizer(name);
    formulas::with_optimizer(name, [&](auto optimizer) {
        const std::int64_t columns = step.dim + formulas::state_columns<decltype(optimizer)>(step.dim);
        for_each_row(step, columns, [&](float* record, const float* grad) {
            change_row(optimizer, record, record + step.dim, grad, step.dim, rates);
        });
    });
}

void row_step(std::string_view name, const RowStep<std::uint16_t>& step, const formulas::Rates& rates) {
    formulas::check_optimizer(name);
    formulas::with_optimizer(name, [&](auto optimizer) {
        using Optimizer = decltype(optimizer);
        const std::int64_t columns = (1 + Optimizer::per_value) * step.dim + halves * Optimizer::per_row;
        for_each_row(step, columns, [&](std::uint16_t* record, const float* grad) {
            change_rounded(optimizer, record, grad, step.dim, rates, step.key);
        });
    });
}

}  // namespace marius
