// What one thread does of a weight's gradient; see weight_gradient.h.
#pragma once
#include <cstdint>

namespace marius {

constexpr std::int64_t tile_rows = 12, tile_columns = 32;  // of the result, whose sums stay in registers
constexpr std::int64_t block_pairs = 128;                  // pairs of rows that are packed, and then multiplied, at a time

struct GradientPart {
    const std::uint16_t *grad, *rectified, *rows;  // rectified may be null
    std::int64_t count, grad_stride, rows_stride, outer, inner;
};

// Adds to weight (outer and inner rounded up to tiles) and bias (outer rounded up to tile_rows and 32). `packed`: room for
// block_pairs pairs of each operand, as wide.
using WeightGradientKernel = void (*)(const GradientPart& part, float* weight, float* bias, std::uint32_t* packed);

#if defined(MARIUS_BF16)
void add_weight_gradient(const GradientPart& part, float* weight, float* bias, std::uint32_t* packed);
#endif

}  // namespace marius
