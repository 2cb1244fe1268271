// Copies rows of a table of records into a dense array.
#pragma once
#include <cstdint>

namespace marius {

// out[i, :] = the first `dim` columns of table[rows[i], :]; table is (table_rows, width), out (count, dim).
// Throws std::invalid_argument for a row outside the table.
void gather(const float* table, std::int64_t table_rows, std::int64_t width, const std::int64_t* rows,
            std::int64_t count, float* out, std::int64_t dim, int threads);

}  // namespace marius
