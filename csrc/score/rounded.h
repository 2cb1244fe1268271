// Queries, shares and queries times factors as bfloat16, as products of blocks read them: pairs of numbers in 32-bit words.
//
// Included by files that are compiled for processors with AVX512-BF16: see lanes.h.
#pragma once
#include "score/bfloat16.h"
#include "score/shared_loss_loops.h"

namespace marius {
namespace {  // a copy for each file

inline void store_words(float* to, Words words) { _mm512_storeu_si512(to, words); }

// A block's queries, of which so many are `there`, as a right operand of products over dim: `deep` words, zero from dim on.
inline void pack_rounded_queries(const float* query, std::int64_t there, std::int64_t dim, std::int64_t deep, float* packed) {
    for (std::int64_t d = 0; d < dim; d += 2 * width)
        for (int v = 0; v < pair; ++v) {
            Words rows[width];
            for (std::int64_t q = 0; q < width; ++q) {
                const float* from = query + (v * width + q) * dim + d;
                const bool is = v * width + q < there;
                rows[q] = rounded(is ? load_some(from, dim - d) : Lanes{},
                                  is && dim - d > width ? load_some(from + width, dim - d - width) : Lanes{});
            }
            transpose(rows);
            for (std::int64_t word = 0; word < least(width, deep - d / 2); ++word)
                store_words(packed + (d / 2 + word) * block_queries + v * width, rows[word]);
        }
}

// The same queries times their factors, as a right operand of products over queries: pairs of them, `stride` words apart.
inline void weigh_rounded(const float* query, std::int64_t there, std::int64_t dim, const float* factor, std::int64_t stride,
                          float* weighted) {
    for (std::int64_t q = 0; q < block_queries; q += 2, query += 2 * dim, weighted += stride)
        for (std::int64_t d = 0; d < dim; d += width) {
            const auto times = [&](std::int64_t more) {
                return q + more < there ? load_some(query + more * dim + d, dim - d) * all(factor[q + more]) : Lanes{};
            };
            store_words(weighted + d, pairs_of(times(0), times(1)));
        }
}

// Scores (candidates, queries of a block) become shares twice: pairs of queries, (candidates, block / 2) words, which may lie where
// the scores do, and pairs of candidates, (candidates / 2, block).
struct RoundedShares {
    static constexpr std::int64_t per_word = 2;

    template <class Share>
    static void shares(const float* scores, float* to, float* pairs, std::int64_t first, std::int64_t last, Share& share) {
        for (std::int64_t row = first; row < last; row += 2) {
            Lanes each[2][pair] = {};
            for (std::int64_t more = 0; more < least(2, last - row); ++more)
                for (int v = 0; v < pair; ++v) each[more][v] = share(load(scores + (row + more) * block_queries + v * width), v);
            for (int v = 0; v < pair; ++v)
                store_words(pairs + row / 2 * block_queries + v * width, pairs_of(each[0][v], each[1][v]));
            for (std::int64_t more = 0; more < least(2, last - row); ++more)
                store_words(to + (row + more) * (block_queries / 2), rounded(each[more][0], each[more][1]));
        }
    }
};

}  // namespace
}  // namespace marius
