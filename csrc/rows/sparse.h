// Holds rows most of whose numbers are 0 by the numbers that are not.
#pragma once
#include <cstdint>
#include <vector>

#include "rows/gather.h"

namespace marius {

// Rows of `width` numbers, added in order. It takes 4 bytes a row and 8 for each number whose bits are not 0.
class SparseRows {
public:
    explicit SparseRows(std::int64_t width) : width_(width) {}

    // Appends the first `width` columns of all rows of a table, widened to float32.
    void add(const GatherTable& table);

    std::int64_t width() const { return width_; }
    std::int64_t rows() const { return rows_; }
    std::int64_t bytes() const;

    // out[i, :] = row rows[i], with the bits that gather() gives of the table; out is (count, width).
    // Throws std::invalid_argument for a row that was not added.
    void gather(const std::int64_t* rows, std::int64_t count, float* out, int threads) const;

private:
    struct Entry {
        std::uint32_t column;
        float value;
    };
    // Many rows, so that what is held grows without being copied.
    struct Block {
        std::vector<std::uint32_t> starts{0};
        std::vector<Entry> entries;
    };

    std::int64_t width_, rows_ = 0;
    std::vector<Block> blocks_;
};

}  // namespace marius
