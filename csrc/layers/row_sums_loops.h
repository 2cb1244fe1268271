// The loops of sums of rows over vectors as wide as the including file is compiled for; see lanes.h.
#pragma once
#include "layers/numbers.h"
#include "layers/row_sums.h"

namespace marius {
namespace {  // a copy for each file

#if defined(__AVX512F__)
constexpr int at_once = 8;  // vectors whose sums stay in registers
#else
constexpr int at_once = 4;
#endif

template <int vectors, class In, class Out>
void sum_part(const In* const* rows, const float* weights, std::int64_t count, Out* out, std::int64_t at, std::int64_t last) {
    Lanes sums[vectors] = {};
    for (std::int64_t k = 0; k < count; ++k) {
        const Lanes weight = all(weights[k]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
            const Lanes row = numbers(rows[k] + at + v * width, v + 1 < vectors ? width : last);
            sums[v] = fused(weight, row, sums[v]);
        }
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) put(out + at + v * width, sums[v], v + 1 < vectors ? width : last);
}

template <class In, class Out>
void sum_of_rows(const In* const* rows, const float* weights, std::int64_t count, Out* out, std::int64_t dim) {
    std::int64_t at = 0;
    for (; at + at_once * width <= dim; at += at_once * width) sum_part<at_once>(rows, weights, count, out, at, width);
    for (; at < dim; at += width) sum_part<1>(rows, weights, count, out, at, dim - at < width ? dim - at : width);
}

constexpr RowSums row_sums_functions = {sum_of_rows<float, float>, sum_of_rows<float, std::uint16_t>,
                                        sum_of_rows<std::uint16_t, std::uint16_t>};

}  // namespace
}  // namespace marius
