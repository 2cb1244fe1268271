#include "rows/gather.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/parallel.h"
#include "rows/bfloat16.h"
#include "rows/vector.h"

namespace marius {
namespace {

constexpr std::int64_t ahead = 12;       // rows requested before they are copied
constexpr std::int64_t line = 64;        // bytes in a cache line
constexpr std::int64_t lines_ahead = 8;  // of each row; the hardware prefetcher follows with the rest

void request(const std::byte* row, std::int64_t bytes) {
    for (std::int64_t at = 0; at < std::min(bytes, lines_ahead * line); at += line) __builtin_prefetch(row + at);
}

MARIUS_VECTOR_CLONES
void widen_bfloat16(const std::uint16_t* __restrict in, float* __restrict out, std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c) out[c] = widened(in[c]);
}

// The exponent is moved to float32's bias by a product, which is exact and makes subnormal numbers normal ones.
MARIUS_VECTOR_CLONES
void widen_float16(const std::uint16_t* __restrict in, float* __restrict out, std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c) {
        const std::uint32_t half = in[c], magnitude = (half & 0x7fffu) << 13;
        const float finite = std::bit_cast<float>(magnitude) * 0x1p112f;
        const std::uint32_t infinite = (half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
        out[c] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(finite) | infinite | (half & 0x8000u) << 16);
    }
}

MARIUS_VECTOR_CLONES
void widen_int8(const std::int8_t* __restrict in, const float* __restrict scales, float* __restrict out, std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c) out[c] = static_cast<float>(in[c]) * scales[c];
}

std::int64_t bytes_of(Number number) { return number == Number::float32 ? 4 : number == Number::scaled_int8 ? 1 : 2; }

void copy_row(const GatherTable& table, const std::byte* row, float* out, std::int64_t dim) {
    switch (table.number) {
        case Number::float32: std::memcpy(out, row, dim * sizeof(float)); break;
        case Number::float16: widen_float16(reinterpret_cast<const std::uint16_t*>(row), out, dim); break;
        case Number::bfloat16: widen_bfloat16(reinterpret_cast<const std::uint16_t*>(row), out, dim); break;
        case Number::scaled_int8: widen_int8(reinterpret_cast<const std::int8_t*>(row), table.scales, out, dim); break;
    }
}

}  // namespace

void gather(const GatherTable& table, const std::int64_t* rows, std::int64_t count, float* out, std::int64_t dim, int threads) {
    const std::int64_t size = bytes_of(table.number), stride = table.width * size, bytes = dim * size;
    const auto* data = static_cast<const std::byte*>(table.data);
    std::atomic<std::int64_t> outside{-1};
    parallel_for(count, 512, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            if (static_cast<std::uint64_t>(rows[i]) >= static_cast<std::uint64_t>(table.rows)) {
                outside = i;
                return;
            }
        for (std::int64_t i = begin; i < std::min(begin + ahead, end); ++i) request(data + rows[i] * stride, bytes);
        for (std::int64_t i = begin; i < end; ++i) {
            if (i + ahead < end) request(data + rows[i + ahead] * stride, bytes);
            copy_row(table, data + rows[i] * stride, out + i * dim, dim);
        }
    });
    if (outside >= 0)
        throw std::invalid_argument("gather: row " + std::to_string(rows[outside]) + " at position " + std::to_string(outside) +
                                    " is outside the table of " + std::to_string(table.rows) + " rows");
}

}  // namespace marius
