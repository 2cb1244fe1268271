// The kernels of distances, for the vectors that the including file is compiled for.
//
// A vector has the numbers of several candidates, whose columns are packed side by side; a query's number is copied to all lanes.
// So only a query's gradient is summed across lanes, once a block, and a few queries share what is loaded of the candidates. The
// gradients compute the differences again, because an array of them would be `dim` times as large as the scores.
#pragma once
#include "score/distance_kernels.h"
#include "score/lanes.h"

namespace marius {
namespace {

struct Magnitude {  // |d|
    static constexpr int parts = 1;
    static constexpr float factor = 1.0f;  // of all sums

    static Lanes added(Lanes sum, const Lanes* d) { return sum + magnitude(d[0]); }

    // Adds g times the direction of d to both.
    static void pull(Lanes g, const Lanes* d, Lanes* left, Lanes* right) {
        const Lanes directed = with_sign(g, d[0]);
        left[0] += directed;
        right[0] += directed;
    }
};

// |d| of complex numbers. One step of Newton's method takes an estimate y of 1 / sqrt(s) to y (3 - s y^2) / 2: with a relative
// error e of y, below 2^-11, it is right within 1.5 e^2, float32's rounding. The half is left to `factor`.
struct Modulus {
    static constexpr int parts = 2;
    static constexpr float factor = 0.5f;
    static constexpr float smallest = 1.17549435e-38f;  // keeps 1 / sqrt(s) finite, and so the direction of zero zero

    static Lanes square(const Lanes* d) { return fused(d[0], d[0], fused(d[1], d[1], all(smallest))); }

    static Lanes added(Lanes sum, const Lanes* d) {
        const Lanes s = square(d), y = inverse_root_estimate(s), root = s * y;
        return fused(root, fused(-root, y, all(3.0f)), sum);
    }

    static void pull(Lanes g, const Lanes* d, Lanes* left, Lanes* right) {
        const Lanes s = square(d), y = inverse_root_estimate(s);
        const Lanes weight = g * y * fused(-(s * y), y, all(3.0f));
        for (int part = 0; part < parts; ++part) {
            left[part] = fused(weight, d[part], left[part]);
            right[part] = fused(weight, d[part], right[part]);
        }
    }
};

std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// packed[c] = column `column` of the candidates left + c < right, then zeros up to `size`.
void pack(const DistanceTile& tile, std::int64_t column, std::int64_t left, std::int64_t right, std::int64_t size,
          float* packed) {
    const float* from = tile.candidates + left * tile.dim + column;
    for (std::int64_t c = 0; c < size; ++c, from += tile.dim) packed[c] = left + c < right ? *from : 0.0f;
}

// ---- scores: a group of candidates at a time; a few queries' sums stay in registers ----

constexpr int vectors = 2;  // of candidates in a group
constexpr int queries_of_scores = width == 16 ? 8 : 2;
constexpr std::int64_t group = vectors * width;
constexpr std::int64_t terms_in_turn = 64;  // added one by one; their sums are added then: rounding grows more slowly
static_assert(group <= group_most);

// Scores of `queries` rows of the tile, from `row` on, with a group whose columns are packed side by side.
template <class Term, int queries>
void score_group(const DistanceTile& tile, std::int64_t row, const float* packed, std::int64_t left, std::int64_t right,
                 float* scores) {
    const std::int64_t terms = tile.dim / Term::parts;
    const float* query = tile.query + row * tile.dim;
    Lanes sums[queries][vectors] = {};
    for (std::int64_t first = 0; first < terms; first += terms_in_turn) {
        Lanes parts[queries][vectors] = {};
        for (std::int64_t term = first; term < smaller(first + terms_in_turn, terms); ++term) {
            Lanes candidates[vectors][Term::parts];
            for (int part = 0; part < Term::parts; ++part)
                for (int v = 0; v < vectors; ++v) candidates[v][part] = load(packed + (part * terms + term) * group + v * width);
#pragma GCC unroll 8
            for (int q = 0; q < queries; ++q)
#pragma GCC unroll 8
                for (int v = 0; v < vectors; ++v) {
                    Lanes difference[Term::parts];
                    for (int part = 0; part < Term::parts; ++part)
                        difference[part] = candidates[v][part] - all(query[q * tile.dim + part * terms + term]);
                    parts[q][v] = Term::added(parts[q][v], difference);
                }
        }
        for (int q = 0; q < queries; ++q)
            for (int v = 0; v < vectors; ++v) sums[q][v] += parts[q][v];
    }
    for (int q = 0; q < queries; ++q) {
        float row_scores[group];
        for (int v = 0; v < vectors; ++v) store(row_scores + v * width, sums[q][v] * all(-Term::factor));
        __builtin_memcpy(scores + (row + q) * tile.count + left, row_scores, (right - left) * sizeof(float));
    }
}

template <class Term>
void score(const DistanceTile& tile, std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right, float* scores,
           float* packed) {
    for (; left < right; left += group) {
        const std::int64_t end = smaller(left + group, right);
        for (std::int64_t column = 0; column < tile.dim; ++column) pack(tile, column, left, end, group, packed + column * group);
        std::int64_t row = top;
        for (; row + queries_of_scores <= bottom; row += queries_of_scores)
            score_group<Term, queries_of_scores>(tile, row, packed, left, end, scores);
        for (; row < bottom; ++row) score_group<Term, 1>(tile, row, packed, left, end, scores);
    }
}

// ---- gradients: a few terms and a block of candidates at a time, which stay in the nearest caches ----

constexpr int queries_of_gradients = width == 16 ? 4 : 2;
constexpr std::int64_t block = 1024;  // candidates

template <int parts> struct Block {
    alignas(64) float candidates[terms_at_once][parts][block], sums[terms_at_once][parts][block];
    alignas(64) float d_scores[queries_of_gradients][block];
};

// Adds the gradients of one term, between `queries` queries and a block of candidates, to the block's sums and to d_query.
template <class Term, int queries>
void pull_term(const DistanceTile& tile, std::int64_t row, std::int64_t term, std::int64_t size, bool first,
               const float (*candidates)[block], float (*sums)[block], const float (*d_scores)[block], float* d_query) {
    const std::int64_t terms = tile.dim / Term::parts;
    Lanes query[queries][Term::parts], pulled[queries][Term::parts] = {};
    for (int q = 0; q < queries; ++q)
        for (int part = 0; part < Term::parts; ++part)
            query[q][part] = all(tile.query[(row + q) * tile.dim + part * terms + term]);
    for (std::int64_t c = 0; c < size; c += width) {
        Lanes candidate[Term::parts], candidate_sum[Term::parts];
        for (int part = 0; part < Term::parts; ++part) {
            candidate[part] = load(candidates[part] + c);
            candidate_sum[part] = load(sums[part] + c);
        }
#pragma GCC unroll 8
        for (int q = 0; q < queries; ++q) {
            Lanes difference[Term::parts];
            for (int part = 0; part < Term::parts; ++part) difference[part] = candidate[part] - query[q][part];
            Term::pull(load(d_scores[q] + c), difference, pulled[q], candidate_sum);
        }
        for (int part = 0; part < Term::parts; ++part) store(sums[part] + c, candidate_sum[part]);
    }
    for (int q = 0; q < queries; ++q)
        for (int part = 0; part < Term::parts; ++part) {
            float& out = d_query[(row + q) * tile.dim + part * terms + term];
            out = (first ? 0.0f : out) + Term::factor * sum(pulled[q][part]);
        }
}

template <class Term, int queries>
void pull_rows(const DistanceTile& tile, std::int64_t row, std::int64_t first, std::int64_t last, std::int64_t left,
               std::int64_t size, const float* d_scores, float* d_query, Block<Term::parts>& work) {
    const std::int64_t padded = (size + width - 1) / width * width;
    for (int q = 0; q < queries; ++q) {
        const float* from = d_scores + (row + q) * tile.count + left;
        std::int64_t c = 0;
        for (; c + width <= size; c += width) store(work.d_scores[q] + c, load(from + c));
        for (; c < padded; ++c) work.d_scores[q][c] = c < size ? from[c] : 0.0f;
    }
    for (std::int64_t term = first; term < last; ++term)
        pull_term<Term, queries>(tile, row, term, padded, left == 0, work.candidates[term - first], work.sums[term - first],
                                 work.d_scores, d_query);
}

template <class Term>
void gradients(const DistanceTile& tile, std::int64_t first, std::int64_t last, const float* d_scores, float* d_query,
               float* d_candidates) {
    const std::int64_t terms = tile.dim / Term::parts;
    Block<Term::parts> work;
    for (std::int64_t left = 0; left < tile.count; left += block) {
        const std::int64_t size = smaller(block, tile.count - left);
        for (std::int64_t term = first; term < last; ++term)
            for (int part = 0; part < Term::parts; ++part) {
                pack(tile, part * terms + term, left, left + size, block, work.candidates[term - first][part]);
                __builtin_memset(work.sums[term - first][part], 0, sizeof work.sums[0][0]);
            }
        std::int64_t row = 0;
        for (; row + queries_of_gradients <= tile.queries; row += queries_of_gradients)
            pull_rows<Term, queries_of_gradients>(tile, row, first, last, left, size, d_scores, d_query, work);
        for (; row < tile.queries; ++row) pull_rows<Term, 1>(tile, row, first, last, left, size, d_scores, d_query, work);
        for (std::int64_t term = first; term < last; ++term)
            for (int part = 0; part < Term::parts; ++part)
                for (std::int64_t c = 0; c < size; ++c)
                    d_candidates[(left + c) * tile.dim + part * terms + term] -= Term::factor * work.sums[term - first][part][c];
    }
}

template <class Term> constexpr DistanceFunctions functions_of_term = {Term::parts, score<Term>, gradients<Term>};

}  // namespace
}  // namespace marius
