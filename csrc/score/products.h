// Products of small blocks of matrices, whose results stay in registers until they are complete.
//
// A number is a 32-bit word: a float32, or a pair of bfloat16 that follow each other in the direction that is summed over.
// Included by files that are compiled for one kind of processor: see lanes.h.
#pragma once
#include "score/exponential.h"

namespace marius {
namespace {  // a copy for each file

struct Float32 {
    static constexpr std::int64_t per_word = 1;
    static Lanes add_product(Lanes sum, Lanes a, Lanes b) { return fused(a, b, sum); }
};

// A left operand (rows, deep) of words, `row` and `deep` apart, one word of which meets a whole vector of the right operand.
struct Left {
    const float* words;
    std::int64_t row, deep;

    Left at(std::int64_t first_row, std::int64_t first_deep) const {
        return {words + first_row * row + first_deep * deep, row, deep};
    }
};

// Keeps a word that was copied to all lanes in a register: it would be loaded anew for each vector it meets.
inline Lanes copied(float word) {
    Lanes lanes = all(word);
#if defined(__x86_64__)
    asm("" : "+v"(lanes));
#endif
    return lanes;
}

#if defined(__AVX512F__)
constexpr int most_rows = 12, narrow_rows = 6, most_vectors = 4;  // 32 registers
#else
// 16 registers hold 12 sums, 2 vectors of the right operand and a word of the left one. A strip of 3 rows and 4 vectors needs 17.
constexpr int most_rows = 6, narrow_rows = 6, most_vectors = 2;
#endif

constexpr int pair = 2;  // vectors in a block of queries
constexpr std::int64_t block_queries = pair * width;

// Adds to `sums` the products of `rows` rows and a right operand (deep, vectors * width), `b_deep` words from row to row.
template <class Numbers, int rows, int vectors>
inline void add_products(const Left& a, const float* b, std::int64_t b_deep, std::int64_t deep, Lanes (&sums)[rows][vectors]) {
    const float* words = a.words;
    for (std::int64_t k = 0; k < deep; ++k, words += a.deep, b += b_deep) {
        Lanes right[vectors];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) right[v] = load(b + v * width);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            const Lanes left = copied(words[r * a.row]);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v) sums[r][v] = Numbers::add_product(sums[r][v], left, right[v]);
        }
    }
}

// out (rows, block_queries), set or added to: `rows` rows of a with a right operand as wide.
template <class Numbers, int rows>
[[gnu::noinline]] void block_product(const Left& a, const float* b, std::int64_t deep, float* out, bool add) {
    Lanes sums[rows][pair];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < pair; ++v) sums[r][v] = add ? load(out + r * block_queries + v * width) : Lanes{};
    add_products<Numbers>(a, b, block_queries, deep, sums);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < pair; ++v) store(out + r * block_queries + v * width, sums[r][v]);
}

// The same for any number of rows.
template <class Numbers>
void product(const Left& a, std::int64_t rows, const float* b, std::int64_t deep, float* out, bool add) {
    std::int64_t row = 0;
    for (; row + most_rows <= rows; row += most_rows)
        block_product<Numbers, most_rows>(a.at(row, 0), b, deep, out + row * block_queries, add);
    for (; row + 2 <= rows; row += 2) block_product<Numbers, 2>(a.at(row, 0), b, deep, out + row * block_queries, add);
    if (row < rows) block_product<Numbers, 1>(a.at(row, 0), b, deep, out + row * block_queries, add);
}

// Runs of a left operand, `run` words apart, and of a right one that follow each other: their products are added up.
struct Runs {
    std::int64_t count, run, deep;
};

// out (rows, columns), `out_row` numbers from row to row, set or added to; `b` is (runs * deep, b_deep), zero from `columns` on.
template <class Numbers, int rows, int vectors>
[[gnu::noinline]] void strip_product(Left a, const Runs& runs, const float* b, std::int64_t b_deep, float* out,
                                     std::int64_t out_row, std::int64_t columns, bool add) {
    const std::int64_t rest = columns - (vectors - 1) * width;
    Lanes sums[rows][vectors];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v) {
            const float* place = out + r * out_row + v * width;
            sums[r][v] = add ? load_some(place, v + 1 < vectors ? width : rest) : Lanes{};
        }
    for (std::int64_t run = 0; run < runs.count; ++run, a.words += runs.run, b += runs.deep * b_deep)
        add_products<Numbers>(a, b, b_deep, runs.deep, sums);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v) store_some(out + r * out_row + v * width, sums[r][v], v + 1 < vectors ? width : rest);
}

template <class Numbers, int rows>
void strips(const Left& a, const Runs& runs, const float* b, std::int64_t b_deep, float* out, std::int64_t columns, bool add) {
    for (std::int64_t column = 0; column < columns;) {
        const std::int64_t left = columns - column, vectors = (left + width - 1) / width;
        const auto strip = vectors >= most_vectors ? strip_product<Numbers, rows, most_vectors>
                           : vectors == 3          ? strip_product<Numbers, rows, 3>
                           : vectors == 2          ? strip_product<Numbers, rows, 2>
                                                   : strip_product<Numbers, rows, 1>;
        const std::int64_t wide = left < most_vectors * width ? left : most_vectors * width;
        strip(a, runs, b + column, b_deep, out + column, columns, wide, add);
        column += wide;
    }
}

// out (rows, columns), contiguous, set or added to, for any number of rows.
template <class Numbers>
void product_of_runs(const Left& a, std::int64_t rows, const Runs& runs, const float* b, std::int64_t b_deep, float* out,
                     std::int64_t columns, bool add) {
    std::int64_t row = 0;
    for (; row + narrow_rows <= rows; row += narrow_rows)
        strips<Numbers, narrow_rows>(a.at(row, 0), runs, b, b_deep, out + row * columns, columns, add);
    for (; row < rows; ++row) strips<Numbers, 1>(a.at(row, 0), runs, b, b_deep, out + row * columns, columns, add);
}

}  // namespace
}  // namespace marius
