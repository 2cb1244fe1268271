// One step of a row optimizer: changes the values and the state of rows in their records.
//
// A record holds `dim` values, then the optimizer's state columns. `rows` ascends and repeats no row; grads is
// (count, dim). Every kernel throws std::invalid_argument where rows or widths do not fit, before it changes anything;
// results do not depend on the number of threads or on the machine's vector width.
#pragma once
#include <cstdint>

namespace marius {

struct RowStep {
    float* table;              // (table_rows, width)
    std::int64_t table_rows, width;
    const std::int64_t* rows;  // (count,)
    std::int64_t count;
    const float* grads;        // (count, dim)
    std::int64_t dim;
    int threads;
};

// value -= lr * g. No state.
void sgd_step(const RowStep& step, float lr);

// state += mean of g^2 over the row; value -= lr * g / (sqrt(state) + eps). One state column.
void row_adagrad_step(const RowStep& step, float lr, float eps);

// state += g^2; value -= lr * g / (sqrt(state) + eps). `dim` state columns.
void adagrad_step(const RowStep& step, float lr, float eps);

// Adam with bias correction by the row's own number of steps. State: first moments, second moments, steps (2 dim + 1).
void adam_step(const RowStep& step, float lr, float beta1, float beta2, float eps);

}  // namespace marius
