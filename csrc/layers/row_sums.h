// Sums of a few rows, each times a weight, by vectors of some width. Sums are float32.
#pragma once
#include <cstdint>
#include <vector>

namespace marius {

// out = sum of weights[k] * rows[k], in order; 0 without rows.
template <class In, class Out>
using RowSum = void (*)(const In* const* rows, const float* weights, std::int64_t count, Out* out, std::int64_t dim);

struct RowSums {
    RowSum<float, float> float32;
    RowSum<float, std::uint16_t> rounded;  // the result is bfloat16
    RowSum<std::uint16_t, std::uint16_t> bfloat16;
};

#if defined(__x86_64__)
extern const RowSums row_sums_of_16, row_sums_of_8;
#endif
extern const RowSums row_sums_of_4;

// Those with the widest vectors of this processor.
const RowSums& row_sums();

}  // namespace marius
