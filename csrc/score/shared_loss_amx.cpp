// Losses of shared candidates with products of numbers rounded to bfloat16, by AMX; see CMakeLists.txt.
//
// A few blocks of queries at a time meet all candidates of a slice: their scores, which are float32, become shares while they are
// near. The shares alone are kept, as half as many words.
#if defined(MARIUS_AMX)
#include "score/amx.h"
#include "score/rounded.h"

namespace marius {
namespace {

constexpr std::int64_t blocks_in_turn = 4;     // of queries: each candidate that is read meets them all
constexpr std::int64_t slice_bytes = 4 << 20;  // of a slice's candidates and scores: with half of it all is up to a fifth slower
constexpr std::int64_t block_tiles = block_queries / tile, block_rows = 2 * tile;

std::int64_t tiles_of(std::int64_t count) { return (count + tile - 1) / tile; }

// Words between two vectors of the same tiles: an odd number of cache lines, so that the vectors of a tile lie in different sets.
std::int64_t apart(std::int64_t words) { return (tiles_of(words) | 1) * tile; }

// How the operands of one slice lie.
struct Layout {
    std::int64_t rows, dim;
    std::int64_t row_tiles = tiles_of(rows), dim_tiles = tiles_of(dim);
    std::int64_t over_dim = tiles_of(words<RoundedShares>(dim));  // tiles deep
    std::int64_t over_rows = tiles_of(words<RoundedShares>(rows));
    std::int64_t all_rows = 2 * over_rows * tile;  // with those beyond, which are zero
    std::int64_t by_dim = apart(words<RoundedShares>(dim));
    std::int64_t by_row = apart(words<RoundedShares>(rows));
    std::int64_t weighted = apart(dim);
    std::int64_t shares = all_rows * tile, pairs = all_rows / 2 * block_queries, scores = all_rows * block_queries;  // of a block
    std::int64_t d_query = dim_tiles * tile * block_queries;
    std::int64_t packed = over_dim * tile * block_queries;
};

// Candidates twice: (rows, pairs of numbers), and (numbers, pairs of rows). What is beyond them is zero.
void pack_candidates(const Chunk& chunk, std::int64_t first, const Layout& at, const ScoreRoom& room) {
    const float* from = chunk.candidates + first * at.dim;
    const auto numbers = [&](std::int64_t row, std::int64_t d) {
        return row < at.rows && d < at.dim ? load_some(from + row * at.dim + d, at.dim - d) : Lanes{};
    };
    for (std::int64_t row = 0; row < at.all_rows; ++row)
        for (std::int64_t word = 0; word < at.over_dim * tile; word += tile)
            store_words(room.by_dim + row * at.by_dim + word, rounded(numbers(row, 2 * word), numbers(row, 2 * word + width)));
    for (std::int64_t d = 0; d < at.dim_tiles * tile; d += tile)
        for (std::int64_t word = 0; word < at.over_rows * tile; word += tile) {
            Words pairs[tile];
            for (std::int64_t i = 0; i < tile; ++i)
                pairs[i] = pairs_of(numbers(2 * (word + i), d), numbers(2 * (word + i) + 1, d));
            transpose(pairs);
            for (std::int64_t i = 0; i < tile; ++i) store_words(room.by_row + (d + i) * at.by_row + word, pairs[i]);
        }
}

void set_zero(float* from, const float* to) {
    for (; from < to; ++from) *from = 0;
}

void shares(const Chunk& chunk, const Group& group, std::int64_t first, std::int64_t last, const ScoreRoom& room) {
    const Layout at{last - first, chunk.dim};
    const Session session;
    if (group.first == 0) pack_candidates(chunk, first, at, room);
    const auto become_shares = block_shares_of<RoundedShares>(chunk.terms.loss);
    const Tiles candidates{room.by_dim, at.by_dim, tile * at.by_dim, tile};
    const Tiles numbers{room.by_row, at.by_row, tile * at.by_row, tile};
    float* const scores = room.scores + group.blocks * at.shares;
    for (std::int64_t turn = 0; turn < group.blocks; turn += blocks_in_turn) {
        const std::int64_t end = least(turn + blocks_in_turn, group.blocks);
        for (std::int64_t row = 0; row < at.row_tiles; row += 2)
            for (std::int64_t block = turn; block < end; ++block) {
                const Tiles queries{group.packed + block * at.packed, block_queries, tile, tile * block_queries};
                product_of_tiles(candidates.at(row), least(2, at.row_tiles - row), queries, block_tiles, at.over_dim,
                                 scores + (block - turn) * at.scores + row * tile * block_queries, block_queries, false);
            }
        for (std::int64_t block = turn; block < end; ++block) {
            float *from = scores + (block - turn) * at.scores, *to = room.scores + block * at.shares;
            float* pairs = room.pairs + (block - turn) * at.pairs;
            const std::int64_t query = block * block_queries;
            correct(chunk, group.first + query, first, at.rows, from);
            hide(chunk, group.first + query, first, last, from);
            become_shares(chunk.terms, group.positive + query, from, to, pairs, at.rows, room.reference + query,
                          room.sum + query);
            set_zero(to + at.rows * tile, to + at.shares);
            set_zero(pairs + words<RoundedShares>(at.rows) * block_queries, pairs + at.pairs);
        }
        for (std::int64_t d = 0; d < at.dim_tiles; d += 2)
            for (std::int64_t block = turn; block < end; ++block) {
                const Tiles of_block{room.pairs + (block - turn) * at.pairs, block_queries, tile, tile * block_queries};
                product_of_tiles(numbers.at(d), least(2, at.dim_tiles - d), of_block, block_tiles, at.over_rows,
                                 room.d_query + block * at.d_query + d * tile * block_queries, block_queries, false);
            }
    }
}

void add_tiled_queries(const Chunk& chunk, const Group& group, std::int64_t block, const ScoreRoom& room, float* d_query) {
    add_block_of_queries(chunk, group, block, room.d_query + block * Layout{0, chunk.dim}.d_query, room.factor, d_query);
}

// Rows and columns that are there of a block of sums are set or added to.
void put(const float* block, std::int64_t rows, std::int64_t columns, float* to, std::int64_t dim, bool add) {
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; column += width) {
            float* place = to + row * dim + column;
            const std::int64_t there = columns - column;
            const Lanes sums = load(block + row * block_queries + column);
            store_some(place, add ? sums + load_some(place, there) : sums, there);
        }
}

void gradients(const Chunk& chunk, const Group& group, std::int64_t first, std::int64_t last, const ScoreRoom& room,
               float* d_candidates, bool add) {
    const Layout at{last - first, chunk.dim};
    const std::int64_t dim = at.dim, of_block = block_queries / 2 * at.weighted;
    const Session session;
    for (std::int64_t block = 0; block < group.blocks; ++block) {
        const std::int64_t query = group.first + block * block_queries;
        weigh_rounded(chunk.query + query * dim, chunk.queries - query, dim, room.factor + block * block_queries, at.weighted,
                      room.weighted + block * of_block);
    }
    alignas(64) float sums[block_queries * block_queries];
    const Tiles shares_of{room.scores, tile, tile * tile, at.shares}, queries{room.weighted, at.weighted, tile, of_block};
    for (std::int64_t row = 0; row < at.rows; row += block_rows)
        for (std::int64_t d = 0; d < dim; d += block_rows) {
            const std::int64_t rows = least(block_rows, at.rows - row), columns = least(block_rows, dim - d);
            const bool whole = rows == block_rows && columns % tile == 0;
            float* to = d_candidates + (first + row) * dim + d;
            product_of_tiles(shares_of.at(row / tile), tiles_of(rows), queries.at(d / tile), tiles_of(columns), group.blocks,
                             whole ? to : sums, whole ? dim : block_queries, whole && add);
            if (!whole) put(sums, rows, columns, to, dim, add);
        }
}

void pack(const Chunk& chunk, std::int64_t first, std::int64_t blocks, float* packed) {
    const Layout at{0, chunk.dim};
    for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t query = first + block * block_queries;
        pack_rounded_queries(chunk.query + query * chunk.dim, chunk.queries - query, chunk.dim, at.over_dim * tile,
                             packed + block * at.packed);
    }
}

std::int64_t packed_size(std::int64_t dim, std::int64_t blocks) { return blocks * Layout{0, dim}.packed; }

ScoreRoomSizes room_sizes(std::int64_t candidates, std::int64_t dim, std::int64_t blocks) {
    const Layout at{candidates, dim};
    return {blocks * at.shares + blocks_in_turn * at.scores,
            blocks_in_turn * at.pairs,
            blocks * at.d_query,
            blocks * block_queries / 2 * at.weighted,
            at.all_rows * at.by_dim,
            at.dim_tiles * tile * at.by_row,
            blocks * block_queries};
}

// Candidates of which both packed kinds, the scores of a turn and its pairs of shares take so many bytes.
std::int64_t slice_rows(std::int64_t dim) {
    const std::int64_t of_row = 4 * dim + blocks_in_turn * 6 * block_queries;
    return most(slice_bytes / of_row / block_rows, 4) * block_rows;
}

}  // namespace

constinit const SharedLossKernel shared_loss_amx = {
    "amx",       true,       block_queries, block_rows, most_blocks,       2,        slice_rows,
    packed_size, room_sizes, pack,          shares,     add_tiled_queries, gradients};

}  // namespace marius
#endif
