#include "score/complex.h"

#include "base/parallel.h"
#include "rows/vector.h"

namespace marius {
namespace {

constexpr std::int64_t numbers_at_a_time = 1 << 14;

MARIUS_VECTOR_CLONES
void product_of_row(const float* __restrict left, const float* __restrict right, float sign, std::int64_t numbers,
                    float* __restrict out) {
    for (std::int64_t i = 0; i < numbers; ++i) {
        const float real = left[i], imaginary = left[numbers + i], other = right[i], turned = sign * right[numbers + i];
        out[i] = real * other - imaginary * turned;
        out[numbers + i] = real * turned + imaginary * other;
    }
}

}  // namespace

void complex_product(const float* left, const float* right, bool conjugate, std::int64_t rows, std::int64_t numbers, float* out,
                     int threads) {
    const std::int64_t wide = 2 * numbers, grain = 1 + numbers_at_a_time / (wide + 1);
    parallel_for(rows, grain, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            product_of_row(left + row * wide, right + row * wide, conjugate ? -1.0f : 1.0f, numbers, out + row * wide);
    });
}

}  // namespace marius
