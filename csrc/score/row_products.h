// Products of rows, number by number or as complex numbers, and of queries that are such products: each in one pass over memory.
// Complex rows have real parts first, imaginary parts after.
//
// The same bits for any number of threads and any vector width: each product is rounded before another is added to it.
#pragma once
#include <cstdint>

namespace marius {

// out = left * right, or left * conj(right), of complex rows; (rows, 2 * numbers) each.
void complex_product(const float* left, const float* right, bool conjugate, std::int64_t rows, std::int64_t numbers, float* out,
                     int threads);

enum class Factors { real, complex };

// Row i of `entity` (rows, dim) meets row ids[i] of `relations` (.., dim). `conjugate`: of complex relations.
struct Multiplied {
    Factors factors;
    bool conjugate;
    const float *entity, *relations;
    const std::int64_t* ids;
    std::int64_t rows, dim;
};

// query (rows, dim) = entity * relation.
void query_products(const Multiplied& of, float* query, int threads);

// What a gradient (rows, dim) of the queries makes of both factors, (rows, dim) each. `also`, if any, is added to d_entity.
void query_gradients(const Multiplied& of, const float* grad, const float* also, float* d_entity, float* d_relation, int threads);

}  // namespace marius
