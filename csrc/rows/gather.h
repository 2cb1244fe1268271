// Copies rows of a table into a dense float32 array.
#pragma once
#include <cstdint>

namespace marius {

enum class Number { float32, float16, bfloat16, scaled_int8 };

struct GatherTable {
    const void* data;  // (rows, width) of `number`
    std::int64_t rows, width;
    Number number;
    const float* scales = nullptr;  // (width,) of scaled_int8: what a one in each column stands for
};

// out[i, :] = the first `dim` columns of table[rows[i], :], widened to float32; out is (count, dim).
// Throws std::invalid_argument for a row outside the table.
void gather(const GatherTable& table, const std::int64_t* rows, std::int64_t count, float* out, std::int64_t dim, int threads);

}  // namespace marius
