// The shared softmax with products of numbers rounded to bfloat16, by AVX512-BF16; see CMakeLists.txt.
#if defined(MARIUS_BF16)
#include "score/bfloat16.h"
#include "score/shared_softmax_loops.h"

namespace marius {
namespace {

inline Words pair_of_rows(const float* rows, std::int64_t there, std::int64_t next, std::int64_t count) {
    const Lanes first = there > 0 ? load_some(rows, count) : Lanes{},
                second = there > 1 ? load_some(rows + next, count) : Lanes{};
    return pairs_of(first, second);
}

inline void store_words(float* to, Words words) { _mm512_storeu_si512(to, words); }

struct Rounded {
    static constexpr std::int64_t per_word = 2;

    static Lanes add_product(Lanes sum, Lanes a, Lanes b) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }

    // Rows of pairs that follow each other in dim.
    static Left by_dim(const Chunk& chunk, std::int64_t left, std::int64_t right, const ScoreRoom& room) {
        const std::int64_t dim = chunk.dim, deep = (dim + 1) / 2;
        for (std::int64_t row = 0; row < right - left; ++row) {
            const float* from = chunk.candidates + (left + row) * dim;
            for (std::int64_t d = 0; d < dim; d += 2 * width) {
                const Lanes low = load_some(from + d, dim - d);
                const Lanes high = dim - d > width ? load_some(from + d + width, dim - d - width) : Lanes{};
                store_some(room.by_dim + row * deep + d / 2, (Lanes)rounded(low, high), deep - d / 2);
            }
        }
        return {room.by_dim, deep, 1};
    }

    // Pairs of rows that follow each other.
    static Left by_row(const Chunk& chunk, std::int64_t left, std::int64_t right, const ScoreRoom& room) {
        const std::int64_t dim = chunk.dim, wide = up_to(dim, width);
        for (std::int64_t row = left; row < right; row += 2)
            for (std::int64_t d = 0; d < dim; d += width)
                store_words(room.by_row + (row - left) / 2 * wide + d,
                            pair_of_rows(chunk.candidates + row * dim + d, right - row, dim, dim - d));
        return {room.by_row, 1, wide};
    }

    static void pack_query(const float* query, std::int64_t there, std::int64_t dim, float* packed) {
        for (std::int64_t d = 0; d < dim; d += 2)
            for (int v = 0; v < pair; ++v) {
                alignas(64) float numbers[2][width] = {};
                for (std::int64_t q = 0; q < width && v * width + q < there; ++q)
                    for (std::int64_t more = 0; more < least(2, dim - d); ++more)
                        numbers[more][q] = query[(v * width + q) * dim + d + more];
                store_words(packed + d / 2 * block_queries + v * width, pairs_of(load(numbers[0]), load(numbers[1])));
            }
    }

    static void weigh(const float* query, std::int64_t there, std::int64_t dim, const float* factor, float* weighted) {
        const std::int64_t wide = up_to(dim, width);
        for (std::int64_t q = 0; q < block_queries; q += 2, query += 2 * dim, weighted += wide)
            for (std::int64_t d = 0; d < wide; d += width) {
                const auto times = [&](std::int64_t more) {
                    return q + more < there ? load_some(query + more * dim + d, dim - d) * all(factor[q + more]) : Lanes{};
                };
                store_words(weighted + d, pairs_of(times(0), times(1)));
            }
    }

    // `scores` (candidates, queries) become as many words as half of them: pairs of queries. `pairs`: of candidates.
    static void exponentials(float* scores, float* pairs, std::int64_t first, std::int64_t last, const Lanes* highest,
                             Lanes* sums) {
        for (std::int64_t row = first; row < last; row += 2) {
            Lanes shares[2][pair] = {};
            for (std::int64_t more = 0; more < least(2, last - row); ++more)
                for (int v = 0; v < pair; ++v) {
                    shares[more][v] = exp_of(load(scores + (row + more) * block_queries + v * width) - highest[v]);
                    sums[v] += shares[more][v];
                }
            for (int v = 0; v < pair; ++v)
                store_words(pairs + row / 2 * block_queries + v * width, pairs_of(shares[0][v], shares[1][v]));
            for (std::int64_t more = 0; more < least(2, last - row); ++more)
                store_words(scores + (row + more) * (block_queries / 2), rounded(shares[more][0], shares[more][1]));
        }
    }

    static float* pairs_of_block(const ScoreRoom& room, std::int64_t block, std::int64_t rows) {
        return room.pairs + block * (rows_of_scores(rows) / 2) * block_queries;
    }
    static const float* over_candidates(const ScoreRoom& room, std::int64_t block, std::int64_t rows, std::int64_t row) {
        return pairs_of_block(room, block, rows) + row / 2 * block_queries;
    }
};

}  // namespace

constinit const SharedSoftmaxKernel shared_softmax_bf16 = kernel_of<Rounded>("avx512_bf16");

}  // namespace marius
#endif
