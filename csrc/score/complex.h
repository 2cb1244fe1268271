// Products of complex numbers, in rows whose real parts come first and imaginary parts after.
#pragma once
#include <cstdint>

namespace marius {

// out = left * right, or left * conj(right), number by number; (rows, 2 * numbers) each. The same bits for any number of threads
// and any vector width: each product is rounded before they are added.
void complex_product(const float* left, const float* right, bool conjugate, std::int64_t rows, std::int64_t numbers, float* out,
                     int threads);

}  // namespace marius
