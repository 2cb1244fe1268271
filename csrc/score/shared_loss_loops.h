// The kernels of the shared loss, for the vectors that the including file is compiled for.
//
// A vector has the numbers of several queries. So highest scores and sums need nothing across lanes, and candidates are read as
// they lie: each of their numbers is copied to all lanes. Scores are stored as (candidates, queries of a block).
#pragma once
#include "score/shared_loss_kernels.h"
#include "score/shares.h"
#include "score/transpose.h"

namespace marius {
namespace {

constexpr std::int64_t rows_in_turn = 64;      // shares added one by one; their sums are added then: rounding grows more slowly
constexpr std::int64_t near_bytes = 96 << 10;  // of candidates that a few products in turn read: they stay in a core's cache

inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t most(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
inline std::int64_t up_to(std::int64_t count, std::int64_t size) { return (count + size - 1) / size * size; }

template <class Numbers> std::int64_t words(std::int64_t numbers) {
    return (numbers + Numbers::per_word - 1) / Numbers::per_word;
}

inline std::int64_t near_rows(std::int64_t dim) {
    const std::int64_t rows = near_bytes / static_cast<std::int64_t>(sizeof(float)) / most(dim, 1);
    return most(rows / most_rows, 4) * most_rows;
}

inline std::int64_t rows_of_scores(std::int64_t candidates) { return up_to(candidates, 2); }

// What differs between float32 and rounded numbers: how operands lie in memory.
struct Plain : Float32 {
    static void pack_candidates(const Chunk&, std::int64_t, std::int64_t, const ScoreRoom&) {}
    // The candidates of the chunk from `first` on, as the left operand of products over dim, and over candidates.
    static Left by_dim(const Chunk& chunk, std::int64_t first, const ScoreRoom&) {
        return {chunk.candidates + first * chunk.dim, chunk.dim, 1};
    }
    static Left by_row(const Chunk& chunk, std::int64_t first, const ScoreRoom&) {
        return {chunk.candidates + first * chunk.dim, 1, chunk.dim};
    }
    static void pack_query(const float* query, std::int64_t there, std::int64_t dim, float* packed) {
        for (std::int64_t q = 0; q < block_queries; ++q)
            for (std::int64_t d = 0; d < dim; ++d) packed[d * block_queries + q] = q < there ? query[q * dim + d] : 0.0f;
    }
    static void weigh(const float* query, std::int64_t there, std::int64_t dim, const float* factor, float* weighted) {
        const std::int64_t wide = up_to(dim, width);
        for (std::int64_t q = 0; q < block_queries; ++q, query += dim, weighted += wide)
            for (std::int64_t d = 0; d < wide; d += width)
                store(weighted + d, q < there ? load_some(query + d, dim - d) * all(factor[q]) : Lanes{});
    }
    // The shares of candidates [first, last) of a block, stored as the operands of products.
    template <class Share>
    static void shares(const float* scores, float* shares, float*, std::int64_t first, std::int64_t last, Share& share) {
        for (std::int64_t row = first; row < last; ++row)
            for (int v = 0; v < pair; ++v) {
                const std::int64_t place = row * block_queries + v * width;
                store(shares + place, share(load(scores + place), v));
            }
    }
    static float* pairs_of_block(const ScoreRoom&, std::int64_t, std::int64_t) { return nullptr; }
    // A block's shares of candidates from `row` on, as the right operand of products over candidates.
    static const float* over_candidates(const ScoreRoom& room, std::int64_t block, std::int64_t rows, std::int64_t row) {
        return room.scores + (block * rows_of_scores(rows) + row) * block_queries;
    }
};

// Corrects the scores of a block of queries, from `query` on, with `rows` candidates from `first` on.
inline void correct(const Chunk& chunk, std::int64_t query, std::int64_t first, std::int64_t rows, float* scores) {
    const auto subtract = [&](auto taken) {
        for (std::int64_t row = 0; row < rows; ++row)
            for (int v = 0; v < pair; ++v) {
                float* place = scores + row * block_queries + v * width;
                store(place, load(place) - taken(first + row, v));
            }
    };
    if (chunk.corrections) subtract([&](std::int64_t row, int) { return all(chunk.corrections[row]); });
    const auto& [classes, taken, queries] = chunk.by_class;
    if (!classes) return;
    const float* from = taken + query;
    const std::int64_t there = chunk.queries - query, stride = queries;
    const std::int64_t* of_rows = classes;
    if (there >= block_queries) subtract([=](std::int64_t row, int v) { return load(from + of_rows[row] * stride + v * width); });
    else
        subtract([=](std::int64_t row, int v) {
            return load_some(from + of_rows[row] * stride + v * width, most(there - v * width, 0));
        });
}

// The place of the first hidden pair whose query is not before `query` of the chunk.
inline std::int64_t first_hidden(const Chunk& chunk, std::int64_t query) {
    std::int64_t low = 0, high = chunk.hidden;
    while (low < high) {
        const std::int64_t middle = (low + high) / 2;
        if (chunk.hidden_queries[middle] - chunk.first_query < query) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Sets the scores of a block of queries, from `query` on, with those of candidates [first, last) that are hidden from them.
inline void hide(const Chunk& chunk, std::int64_t query, std::int64_t first, std::int64_t last, float* scores) {
    const std::int64_t end = first_hidden(chunk, query + block_queries);
    for (std::int64_t place = first_hidden(chunk, query); place < end; ++place) {
        const std::int64_t column = chunk.hidden_queries[place] - chunk.first_query - query, row = chunk.hidden_candidates[place];
        if (row >= first && row < last) scores[(row - first) * block_queries + column] = -__builtin_inff();
    }
}

// Of one block: scores of `rows` candidates become shares, which may lie where the scores do.
template <class Numbers, class Share>
[[gnu::noinline]] void block_shares(const SharedLossTerms& terms, const float* positive, const float* scores, float* to,
                                    float* pairs, std::int64_t rows, float* reference, float* sum) {
    Share share(scores, rows, terms, positive);
    for (std::int64_t row = 0; row < rows; row += rows_in_turn) {
        Numbers::shares(scores, to, pairs, row, least(row + rows_in_turn, rows), share);
        share.end_turn();
    }
    for (int v = 0; v < pair; ++v) {
        store(reference + v * width, share.reference(v));
        store(sum + v * width, share.totals[v]);
    }
}

template <class Numbers> auto block_shares_of(LossOfScores loss) {
    return loss == LossOfScores::softmax    ? block_shares<Numbers, SoftmaxShare>
           : loss == LossOfScores::logistic ? block_shares<Numbers, LogisticShare>
                                            : block_shares<Numbers, MarginShare>;
}

template <class Numbers>
void shares(const Chunk& chunk, const Group& group, std::int64_t first, std::int64_t last, const ScoreRoom& room) {
    const std::int64_t dim = chunk.dim, deep = words<Numbers>(dim), near = near_rows(dim), rows = last - first;
    const std::int64_t of_block = rows_of_scores(rows) * block_queries;
    if (group.first == 0) Numbers::pack_candidates(chunk, first, last, room);
    const Left by_dim = Numbers::by_dim(chunk, first, room), by_row = Numbers::by_row(chunk, first, room);
    for (std::int64_t left = first; left < last; left += near) {
        const std::int64_t right = least(left + near, last);
        const Left candidates = by_dim.at(left - first, 0);
        for (std::int64_t block = 0; block < group.blocks; ++block)
            product<Numbers>(candidates, right - left, group.packed + block * deep * block_queries, deep,
                             room.scores + block * of_block + (left - first) * block_queries, false);
    }
    const auto become_shares = block_shares_of<Numbers>(chunk.terms.loss);
    for (std::int64_t block = 0; block < group.blocks; ++block) {
        float* scores = room.scores + block * of_block;
        correct(chunk, group.first + block * block_queries, first, rows, scores);
        hide(chunk, group.first + block * block_queries, first, last, scores);
        const std::int64_t queries = block * block_queries;
        become_shares(chunk.terms, group.positive + queries, scores, scores, Numbers::pairs_of_block(room, block, rows), rows,
                      room.reference + queries, room.sum + queries);
    }
    for (std::int64_t left = first; left < last; left += near) {
        const std::int64_t right = least(left + near, last), turns = words<Numbers>(right - left);
        const Left candidates = by_row.at(0, words<Numbers>(left - first));
        for (std::int64_t block = 0; block < group.blocks; ++block)
            product<Numbers>(candidates, dim, Numbers::over_candidates(room, block, rows, left - first), turns,
                             room.d_query + block * dim * block_queries, left > first);
    }
    if (rows == 0)
        for (std::int64_t i = 0; i < group.blocks * dim * block_queries; ++i) room.d_query[i] = 0;
}

// Adds the gradients `of_block` (dim, block) of a block's queries, times their factors, to those of the chunk's queries.
inline void add_block_of_queries(const Chunk& chunk, const Group& group, std::int64_t block, const float* of_block,
                                 const float* factor, float* d_query) {
    const std::int64_t dim = chunk.dim, last = least(group.queries, (block + 1) * block_queries);
    for (std::int64_t query = block * block_queries; query < last; query += width)
        for (std::int64_t d = 0; d < dim; d += width) {
            Lanes rows[width];
            const float* from = of_block + d * block_queries + query % block_queries;
            for (std::int64_t i = 0; i < width; ++i) rows[i] = d + i < dim ? load(from + i * block_queries) : Lanes{};
            transpose(rows);
            for (std::int64_t q = 0; q < least(width, last - query); ++q) {
                float* place = d_query + (group.first + query + q) * dim + d;
                store_some(place, fused(all(factor[query + q]), rows[q], load_some(place, dim - d)), dim - d);
            }
        }
}

inline void add_queries(const Chunk& chunk, const Group& group, std::int64_t block, const ScoreRoom& room, float* d_query) {
    add_block_of_queries(chunk, group, block, room.d_query + block * chunk.dim * block_queries, room.factor, d_query);
}

template <class Numbers>
void gradients(const Chunk& chunk, const Group& group, std::int64_t first, std::int64_t last, const ScoreRoom& room,
               float* d_candidates, bool add) {
    const std::int64_t dim = chunk.dim, wide = up_to(dim, width), near = near_rows(dim), rows = last - first;
    const std::int64_t deep = block_queries / Numbers::per_word;
    for (std::int64_t block = 0; block < group.blocks; ++block) {
        const std::int64_t query = group.first + block * block_queries;
        Numbers::weigh(chunk.query + query * dim, chunk.queries - query, dim, room.factor + block * block_queries,
                       room.weighted + block * deep * wide);
    }
    const Runs runs{group.blocks, rows_of_scores(rows) * block_queries, deep};
    for (std::int64_t left = first; left < last; left += near)
        product_of_runs<Numbers>({room.scores + (left - first) * deep, deep, 1}, least(near, last - left), runs, room.weighted,
                                 wide, d_candidates + left * dim, dim, add);
}

template <class Numbers> void pack(const Chunk& chunk, std::int64_t first, std::int64_t blocks, float* packed) {
    for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t query = first + block * block_queries;
        Numbers::pack_query(chunk.query + query * chunk.dim, chunk.queries - query, chunk.dim,
                            packed + block * words<Numbers>(chunk.dim) * block_queries);
    }
}

template <class Numbers> std::int64_t packed_size(std::int64_t dim, std::int64_t blocks) {
    return blocks * words<Numbers>(dim) * block_queries;
}

template <class Numbers> ScoreRoomSizes room_sizes(std::int64_t candidates, std::int64_t dim, std::int64_t blocks) {
    const std::int64_t scores = blocks * rows_of_scores(candidates) * block_queries;
    const bool packs = Numbers::per_word > 1;
    return {scores,
            packs ? scores / 2 : 0,
            blocks * dim * block_queries,
            blocks * block_queries / Numbers::per_word * up_to(dim, width),
            packs ? candidates * words<Numbers>(dim) : 0,
            packs ? words<Numbers>(candidates) * up_to(dim, width) : 0,
            blocks * block_queries};
}

constexpr std::int64_t blocks_of_group = 8;  // their scores stay in a core's caches

// Products read few candidates at a time, however long slices are.
inline std::int64_t any_rows(std::int64_t) { return std::int64_t{1} << 40; }

template <class Numbers> constexpr SharedLossKernel kernel_of(const char* name) noexcept {
    return {name,
            Numbers::per_word > 1,
            block_queries,
            1,
            blocks_of_group,
            1,
            any_rows,
            packed_size<Numbers>,
            room_sizes<Numbers>,
            pack<Numbers>,
            shares<Numbers>,
            add_queries,
            gradients<Numbers>};
}

}  // namespace
}  // namespace marius
