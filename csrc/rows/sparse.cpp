#include "rows/sparse.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/parallel.h"

namespace marius {
namespace {

constexpr std::int64_t block_rows = 1024;
constexpr std::int64_t ahead = 8;         // rows whose entries are requested before they are written
constexpr std::uint32_t most_ahead = 64;  // of a row's entries: the others follow, and are foreseen by the processor

}  // namespace

void SparseRows::add(const GatherTable& table) {
    if (width_ > table.width || width_ > std::numeric_limits<std::uint32_t>::max() / block_rows)
        throw std::invalid_argument("sparse rows: rows of " + std::to_string(table.width) + " columns, expected at least " +
                                    std::to_string(width_));
    std::vector<float> row(width_);
    for (std::int64_t i = 0; i < table.rows; ++i) {
        if (rows_ % block_rows == 0) {
            if (!blocks_.empty()) blocks_.back().entries.shrink_to_fit();
            blocks_.emplace_back();
            blocks_.back().starts.reserve(block_rows + 1);
        }
        marius::gather(table, &i, 1, row.data(), width_, 1);
        Block& block = blocks_.back();
        for (std::int64_t c = 0; c < width_; ++c)
            if (std::bit_cast<std::uint32_t>(row[c]) != 0) block.entries.push_back({static_cast<std::uint32_t>(c), row[c]});
        block.starts.push_back(static_cast<std::uint32_t>(block.entries.size()));
        ++rows_;
    }
}

std::int64_t SparseRows::bytes() const {
    std::int64_t bytes = 0;
    for (const Block& block : blocks_)
        bytes += static_cast<std::int64_t>(block.starts.size() * sizeof(std::uint32_t) + block.entries.size() * sizeof(Entry));
    return bytes;
}

void SparseRows::gather(const std::int64_t* rows, std::int64_t count, float* out, int threads) const {
    std::atomic<std::int64_t> outside{-1};
    parallel_for(count, 512, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            if (static_cast<std::uint64_t>(rows[i]) >= static_cast<std::uint64_t>(rows_)) {
                outside = i;
                return;
            }
        for (std::int64_t i = begin; i < end; ++i) {
            if (i + ahead < end) {
                const Block& next = blocks_[rows[i + ahead] / block_rows];
                const std::uint32_t* ends = next.starts.data() + rows[i + ahead] % block_rows;
                for (std::uint32_t e = ends[0]; e < std::min(ends[1], ends[0] + most_ahead); e += 64 / sizeof(Entry))
                    __builtin_prefetch(next.entries.data() + e);
            }
            const Block& block = blocks_[rows[i] / block_rows];
            const std::uint32_t* starts = block.starts.data() + rows[i] % block_rows;
            float* row = out + i * width_;
            std::memset(row, 0, width_ * sizeof(float));
            for (std::uint32_t e = starts[0]; e < starts[1]; ++e) row[block.entries[e].column] = block.entries[e].value;
        }
    });
    if (outside >= 0)
        throw std::invalid_argument("gather: row " + std::to_string(rows[outside]) + " at position " + std::to_string(outside) +
                                    " is outside the table of " + std::to_string(rows_) + " rows");
}

}  // namespace marius
