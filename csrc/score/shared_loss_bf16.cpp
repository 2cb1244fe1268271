// Losses of shared candidates with products of numbers rounded to bfloat16, by AVX512-BF16; see CMakeLists.txt.
#if defined(MARIUS_BF16)
#include "score/rounded.h"

namespace marius {
namespace {

struct Rounded : RoundedShares {
    static Lanes add_product(Lanes sum, Lanes a, Lanes b) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }

    // Twice: rows of pairs that follow each other in dim, and pairs of rows that follow each other.
    static void pack_candidates(const Chunk& chunk, std::int64_t first, std::int64_t last, const ScoreRoom& room) {
        const std::int64_t dim = chunk.dim, deep = words<Rounded>(dim), wide = up_to(dim, width);
        for (std::int64_t row = 0; row < last - first; row += 2) {
            const float* from = chunk.candidates + (first + row) * dim;
            const bool two = first + row + 1 < last;
            for (std::int64_t d = 0; d < dim; d += 2 * width) {
                Lanes low[2] = {}, high[2] = {};
                for (int more = 0; more <= two; ++more) {
                    low[more] = load_some(from + more * dim + d, dim - d);
                    if (dim - d > width) high[more] = load_some(from + more * dim + d + width, dim - d - width);
                    store_some(room.by_dim + (row + more) * deep + d / 2, (Lanes)rounded(low[more], high[more]), deep - d / 2);
                }
                float* pairs = room.by_row + row / 2 * wide + d;
                store_words(pairs, pairs_of(low[0], low[1]));
                if (dim - d > width) store_words(pairs + width, pairs_of(high[0], high[1]));
            }
        }
    }
    static Left by_dim(const Chunk& chunk, std::int64_t, const ScoreRoom& room) {
        return {room.by_dim, words<Rounded>(chunk.dim), 1};
    }
    static Left by_row(const Chunk& chunk, std::int64_t, const ScoreRoom& room) {
        return {room.by_row, 1, up_to(chunk.dim, width)};
    }

    static void pack_query(const float* query, std::int64_t there, std::int64_t dim, float* packed) {
        pack_rounded_queries(query, there, dim, words<Rounded>(dim), packed);
    }
    static void weigh(const float* query, std::int64_t there, std::int64_t dim, const float* factor, float* weighted) {
        weigh_rounded(query, there, dim, factor, up_to(dim, width), weighted);
    }

    static float* pairs_of_block(const ScoreRoom& room, std::int64_t block, std::int64_t rows) {
        return room.pairs + block * (rows_of_scores(rows) / 2) * block_queries;
    }
    static const float* over_candidates(const ScoreRoom& room, std::int64_t block, std::int64_t rows, std::int64_t row) {
        return pairs_of_block(room, block, rows) + row / 2 * block_queries;
    }
};

}  // namespace

constinit const SharedLossKernel shared_loss_bf16 = kernel_of<Rounded>("avx512_bf16");

}  // namespace marius
#endif
