#include "rows/steps.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "rows/bfloat16.h"
#include "rows/vector.h"

namespace marius {
namespace {

constexpr std::int64_t ahead = 4;  // records requested before they are changed
constexpr std::int64_t line = 64;  // bytes in a cache line

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

// Calls change(record, gradient, room) for each row. `columns`: those of a record. `room`: so many floats for the call.
template <class Column, class Change>
void for_each_row(const RowStep<Column>& step, std::int64_t columns, std::int64_t room, Change change) {
    check(step, columns);
    parallel_for(step.count, 128, step.threads, [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> floats(room);
        for (std::int64_t i = begin; i < end; ++i) {
            if (i + ahead < end) {
                const Column* coming = step.table + step.rows[i + ahead] * step.width;
                for (std::int64_t at = 0; at < columns; at += line / sizeof(Column)) __builtin_prefetch(coming + at, 1);
            }
            change(step.table + step.rows[i] * step.width, step.grads + i * step.dim, floats.data());
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

// Changes a record of bfloat16. `room`: its values and their state as float32.
template <class Optimizer>
void change_rounded(std::uint16_t* record, const float* grad, float* room, std::int64_t dim, const formulas::Rates& rates,
                    std::uint32_t key) {
    constexpr bool own = Optimizer::per_row > 0;
    const std::int64_t columns = dim + Optimizer::per_value * dim;
    widen_bfloat16(record, room, columns);
    if constexpr (own) room[columns] = sum_of_halves(record + columns);
    change_row(Optimizer{}, room, room + dim, grad, dim, rates);
    round_by_chance(room, record, columns, key);
    if constexpr (own) split_into_halves(room[columns], record + columns, ~key);
}

}  // namespace

void row_step(std::string_view name, const RowStep<float>& step, const formulas::Rates& rates) {
    formulas::check_optimizer(name);
    formulas::with_optimizer(name, [&](auto optimizer) {
        const std::int64_t columns = step.dim + formulas::state_columns<decltype(optimizer)>(step.dim);
        for_each_row(step, columns, 0, [&](float* record, const float* grad, float*) {
            change_row(optimizer, record, record + step.dim, grad, step.dim, rates);
        });
    });
}

void row_step(std::string_view name, const RowStep<std::uint16_t>& step, const formulas::Rates& rates) {
    formulas::check_optimizer(name);
    formulas::with_optimizer(name, [&](auto optimizer) {
        using Optimizer = decltype(optimizer);
        const std::int64_t room = step.dim + formulas::state_columns<Optimizer>(step.dim);
        const std::int64_t columns = room + (halves - 1) * Optimizer::per_row;
        for_each_row(step, columns, room, [&](std::uint16_t* record, const float* grad, float* floats) {
            change_rounded<Optimizer>(record, grad, floats, step.dim, rates, step.key);
        });
    });
}

}  // namespace marius
