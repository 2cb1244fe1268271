// One step of a row optimizer: changes the values and the state of rows in their records.
//
// A record holds `dim` values, then the optimizer's state columns. `rows` ascends and repeats no row; grads is
// (count, dim). std::invalid_argument is thrown where rows or widths do not fit, before anything changes;
// results do not depend on the number of threads or on the machine's vector width.
//
// Records of bfloat16 are widened, changed as float32, and rounded by chance; the row's own number is two columns whose sum it is.
// How they are rounded follows from the record, the gradient and `key`, not from where the row lies.
#pragma once
#include <cstdint>
#include <string_view>

#include "rows/formulas.h"

namespace marius {

template <class Column>  // float, or std::uint16_t for the bits of bfloat16
struct RowStep {
    Column* table;  // (table_rows, width)
    std::int64_t table_rows, width;
    const std::int64_t* rows;  // (count,)
    std::int64_t count;
    const float* grads;  // (count, dim)
    std::int64_t dim;
    int threads;
    std::uint32_t key = 0;
};

// One step of the optimizer of a name in rows/formulas.h. Throws std::invalid_argument for a name that is none.
void row_step(std::string_view optimizer, const RowStep<float>& step, const formulas::Rates& rates);
void row_step(std::string_view optimizer, const RowStep<std::uint16_t>& step, const formulas::Rates& rates);

}  // namespace marius
