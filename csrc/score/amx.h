// Products of matrices rounded to bfloat16 by AMX, the tiles of Intel's processors since 2023.
//
// A tile is 16 vectors of 16 words, a word two numbers that follow each other in the direction that is summed over: a left tile
// holds [16 rows][16 words deep], a right one [16 words deep][16 columns].
//
// Included by files that are compiled for such processors, so without the standard library: see lanes.h.
#pragma once
#include "score/bfloat16.h"

namespace marius {
namespace {  // a copy for each file

constexpr std::int64_t tile = 16;  // rows of a tile, and words in each

// While one lives, its thread multiplies tiles.
struct Session {
    Session() {
        struct alignas(64) {
            std::uint8_t palette = 1, start = 0, reserved[14] = {};
            std::uint16_t bytes_of_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
            std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
        } shapes;
        asm volatile("" ::: "memory");
        _tile_loadconfig(&shapes);
    }
    ~Session() { _tile_release(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
};

// Tiles in memory. In words: from a tile's vector to its next one, to the tile beside it (of other rows, or of other columns),
// and to the next tile in the direction that is summed over.
struct Tiles {
    const float* words;
    std::int64_t vector, beside, deep;

    Tiles at(std::int64_t tiles_beside) const { return {words + tiles_beside * beside, vector, beside, deep}; }
};

// Sums of `high` times `wide` tiles, 1 or 2 each, over `deep` tiles: `out` has `out_row` numbers from row to row, set or added to.
template <int high, int wide>
[[gnu::noinline]] void block_of_tiles(const Tiles& a, const Tiles& b, std::int64_t deep, float* out, std::int64_t out_row,
                                      bool add) {
    asm volatile("" ::: "memory");  // tiles read what was stored before: not every compiler says so of their instructions
    const std::int64_t bytes = out_row * 4, a_row = a.vector * 4, b_row = b.vector * 4;
    float* below = out + tile * out_row;
    if (add) {
        _tile_loadd(0, out, bytes);
        if (wide > 1) _tile_loadd(1, out + tile, bytes);
        if (high > 1) _tile_loadd(2, below, bytes);
        if (high > 1 && wide > 1) _tile_loadd(3, below + tile, bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    const float *left = a.words, *right = b.words;
    for (std::int64_t k = 0; k < deep; ++k, left += a.deep, right += b.deep) {
        _tile_loadd(4, left, a_row);
        _tile_loadd(6, right, b_row);
        _tile_dpbf16ps(0, 4, 6);
        if (wide > 1) _tile_loadd(7, right + b.beside, b_row);
        if (wide > 1) _tile_dpbf16ps(1, 4, 7);
        if (high > 1) _tile_loadd(5, left + a.beside, a_row);
        if (high > 1) _tile_dpbf16ps(2, 5, 6);
        if (high > 1 && wide > 1) _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, out, bytes);
    if (wide > 1) _tile_stored(1, out + tile, bytes);
    if (high > 1) _tile_stored(2, below, bytes);
    if (high > 1 && wide > 1) _tile_stored(3, below + tile, bytes);
}

// The same for numbers of tiles that are known when it runs.
inline void product_of_tiles(const Tiles& a, std::int64_t high, const Tiles& b, std::int64_t wide, std::int64_t deep, float* out,
                             std::int64_t out_row, bool add) {
    const auto block = high > 1 ? (wide > 1 ? block_of_tiles<2, 2> : block_of_tiles<2, 1>)
                                : (wide > 1 ? block_of_tiles<1, 2> : block_of_tiles<1, 1>);
    block(a, b, deep, out, out_row, add);
}

}  // namespace
}  // namespace marius
