// The gradient of a linear map's weight and bias from rows of bfloat16, with sums of float32, by AVX512-BF16.
#pragma once
#include <cstdint>

#include "layers/rows.h"

namespace marius {

struct WeightGradient {
    Rows<const BrainBits> grad, rows;  // of the results (n, outer), and what was mapped (n, inner)
    const BrainBits* rectified;        // (n, outer) with the stride of grad: where it is not above 0 grad counts as 0; or null
    std::int64_t outer, inner;
};

// Whether this processor can.
bool weight_gradient_usable();

// weight (outer, inner) = transpose of grad times rows; bias (outer) = sum of grad. The bits depend on `threads` alone.
void weight_gradient(const WeightGradient& task, float* weight, float* bias, int threads);

}  // namespace marius
