// Products of matrices rounded to bfloat16 by AMX, the tiles of Intel's processors since 2023, and how matrices are packed for it.
//
// Packed matrices are tiles of 1 KiB, 16 wide and 32 deep (the direction that is summed over), one after another along the
// depth: a panel. A left tile holds [16 rows][32 deep], a right one [16 pairs of depth][16 columns][2].
//
// Included by files that are compiled for such processors, so without the standard library: see lanes.h.
#pragma once
#include "score/bfloat16.h"

namespace marius {
namespace {  // a copy for each file

constexpr std::int64_t tile_wide = 16, tile_deep = 32, tile_size = tile_wide * tile_deep;
constexpr std::int64_t half = tile_wide, whole = 2 * tile_wide;  // of a block of 32 x 32 numbers: its rows are two vectors

// While one lives, its thread multiplies tiles.
struct Session {
    Session() {
        struct alignas(64) {
            std::uint8_t palette = 1, start = 0, reserved[14] = {};
            std::uint16_t bytes_of_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
            std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
        } shapes;
        _tile_loadconfig(&shapes);
    }
    ~Session() { _tile_release(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
};

// A block: set, or added to, from two left panels a_next apart and two right panels b_next apart, so many tiles deep.
inline void multiply(const std::uint16_t* a, std::int64_t a_next, const std::uint16_t* b, std::int64_t b_next, std::int64_t tiles,
                     float* block, bool add) {
    constexpr int bytes = whole * sizeof(float);
    if (add) {
        _tile_loadd(0, block, bytes);
        _tile_loadd(1, block + half, bytes);
        _tile_loadd(2, block + half * whole, bytes);
        _tile_loadd(3, block + half * whole + half, bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (std::int64_t tile = 0; tile < tiles; ++tile, a += tile_size, b += tile_size) {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + b_next, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, a + a_next, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, block, bytes);
    _tile_stored(1, block + half, bytes);
    _tile_stored(2, block + half * whole, bytes);
    _tile_stored(3, block + half * whole + half, bytes);
}

inline void store_tile(std::uint16_t* to, const Words (&rows)[16]) {
    for (int i = 0; i < 16; ++i) _mm512_store_si512(to + static_cast<std::int64_t>(i * 32), rows[i]);
}

// Rows [first, last) of a matrix (.., dim), of which 16 or 32 are looked at from `first` on; 0 beyond it.
struct Rows {
    const float* from;
    std::int64_t first, last, dim;

    __m512 at(std::int64_t row, std::int64_t column) const {
        const std::int64_t there = first + row < last ? (dim - column < half ? dim - column : half) : 0;
        if (there <= 0) return _mm512_setzero_ps();
        const auto mask = static_cast<__mmask16>((1u << there) - 1);
        return _mm512_maskz_loadu_ps(mask, from + (first + row) * dim + column);
    }

    void tile_by_dim(std::int64_t deep, Words (&tile)[16]) const {  // a left tile
        for (int row = 0; row < 16; ++row) tile[row] = rounded(at(row, deep), at(row, deep + half));
    }

    void tile_by_row(std::int64_t column, Words (&tile)[16]) const {  // a right tile
        for (int pair = 0; pair < 16; ++pair) tile[pair] = pairs_of(at(pair + pair, column), at(pair + pair + 1, column));
    }
};

}  // namespace
}  // namespace marius
