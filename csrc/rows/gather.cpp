#include "rows/gather.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/parallel.h"

namespace marius {
namespace {

constexpr std::int64_t ahead = 12;      // rows requested before they are copied
constexpr std::int64_t line = 16;       // floats in a cache line
constexpr std::int64_t lines_ahead = 8; // of each row; the hardware prefetcher follows with the rest

void request(const float* row, std::int64_t dim) {
    for (std::int64_t at = 0; at < std::min(dim, lines_ahead * line); at += line) __builtin_prefetch(row + at);
}

}  // namespace

void gather(const float* table, std::int64_t table_rows, std::int64_t width, const std::int64_t* rows,
            std::int64_t count, float* out, std::int64_t dim, int threads) {
    std::atomic<std::int64_t> outside{-1};
    parallel_for(count, 512, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            if (static_cast<std::uint64_t>(rows[i]) >= static_cast<std::uint64_t>(table_rows)) {
                outside = i;
                return;
            }
        for (std::int64_t i = begin; i < std::min(begin + ahead, end); ++i) request(table + rows[i] * width, dim);
        for (std::int64_t i = begin; i < end; ++i) {
            if (i + ahead < end) request(table + rows[i + ahead] * width, dim);
            std::memcpy(out + i * dim, table + rows[i] * width, dim * sizeof(float));
        }
    });
    if (outside >= 0)
        throw std::invalid_argument("gather: row " + std::to_string(rows[outside]) + " at position " +
                                    std::to_string(outside) + " is outside the table of " +
                                    std::to_string(table_rows) + " rows");
}

}  // namespace marius
