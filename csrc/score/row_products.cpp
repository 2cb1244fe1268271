#include "score/row_products.h"

#include "base/parallel.h"
#include "rows/vector.h"

namespace marius {
namespace {

constexpr std::int64_t numbers_at_a_time = 1 << 14;

MARIUS_VECTOR_CLONES
void multiply(const float* __restrict left, const float* __restrict right, std::int64_t dim, float* __restrict out) {
    for (std::int64_t d = 0; d < dim; ++d) out[d] = left[d] * right[d];
}

MARIUS_VECTOR_CLONES
void multiply_both(const float* __restrict grad, const float* __restrict entity, const float* __restrict relation,
                   std::int64_t dim, float* __restrict d_entity, float* __restrict d_relation) {
    for (std::int64_t d = 0; d < dim; ++d) {
        d_entity[d] = grad[d] * relation[d];
        d_relation[d] = grad[d] * entity[d];
    }
}

// left * right of complex numbers, or left * conj(right) where `sign` is -1.
MARIUS_VECTOR_CLONES
void multiply_complex(const float* __restrict left, const float* __restrict right, float sign, std::int64_t numbers,
                      float* __restrict out) {
    for (std::int64_t i = 0; i < numbers; ++i) {
        const float real = left[i], imaginary = left[numbers + i], other = right[i], turned = sign * right[numbers + i];
        out[i] = real * other - imaginary * turned;
        out[numbers + i] = real * turned + imaginary * other;
    }
}

MARIUS_VECTOR_CLONES
void add(const float* __restrict more, std::int64_t dim, float* __restrict to) {
    for (std::int64_t d = 0; d < dim; ++d) to[d] += more[d];
}

template <class Body> void for_rows(std::int64_t rows, std::int64_t dim, int threads, const Body& body) {
    parallel_for(rows, 1 + numbers_at_a_time / (dim + 1), threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) body(row);
    });
}

}  // namespace

void complex_product(const float* left, const float* right, bool conjugate, std::int64_t rows, std::int64_t numbers, float* out,
                     int threads) {
    const std::int64_t dim = 2 * numbers;
    for_rows(rows, dim, threads, [&](std::int64_t row) {
        multiply_complex(left + row * dim, right + row * dim, conjugate ? -1.0f : 1.0f, numbers, out + row * dim);
    });
}

void query_products(const Multiplied& of, float* query, int threads) {
    for_rows(of.rows, of.dim, threads, [&](std::int64_t row) {
        const std::int64_t place = row * of.dim;
        const float *entity = of.entity + place, *relation = of.relations + of.ids[row] * of.dim;
        if (of.factors == Factors::real) multiply(entity, relation, of.dim, query + place);
        else multiply_complex(entity, relation, of.conjugate ? -1.0f : 1.0f, of.dim / 2, query + place);
    });
}

void query_gradients(const Multiplied& of, const float* grad, const float* also, float* d_entity, float* d_relation,
                     int threads) {
    for_rows(of.rows, of.dim, threads, [&](std::int64_t row) {
        const std::int64_t place = row * of.dim;
        const float *entity = of.entity + place, *relation = of.relations + of.ids[row] * of.dim, *d_query = grad + place;
        if (of.factors == Factors::real) {
            multiply_both(d_query, entity, relation, of.dim, d_entity + place, d_relation + place);
        } else {
            multiply_complex(d_query, relation, of.conjugate ? 1.0f : -1.0f, of.dim / 2, d_entity + place);
            if (of.conjugate) multiply_complex(entity, d_query, -1.0f, of.dim / 2, d_relation + place);
            else multiply_complex(d_query, entity, -1.0f, of.dim / 2, d_relation + place);
        }
        if (also) add(also + place, of.dim, d_entity + place);
    });
}

}  // namespace marius
