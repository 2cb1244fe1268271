// The parts of shared_softmax_tiles.h by AMX; compiled for it, see CMakeLists.txt, and called only where it is there.
#if defined(MARIUS_AMX)
#include "score/shared_softmax_tiles.h"

#include "score/amx.h"

namespace marius {
namespace {

inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

inline __mmask16 first_lanes(std::int64_t count) {
    return static_cast<__mmask16>(count >= half ? 0xffff : count <= 0 ? 0 : (1u << count) - 1);
}

// exp(x) for x <= 0 within 2 units in the last place, as in softmax.cpp; 0 below the smallest normal number.
inline __m512 exp_of(__m512 x) {
    const __m512 bottom = _mm512_set1_ps(-87.0f);
    const __mmask16 nothing = _mm512_cmp_ps_mask(x, bottom, _CMP_LT_OQ);
    const __m512 bounded = _mm512_max_ps(bottom, x);  // x where it is NaN
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(bounded, _mm512_set1_ps(1.44269504088896341f)),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 rough = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), bounded);
    const __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), rough);
    constexpr float factors[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
    __m512 y = _mm512_set1_ps(1.9875691500e-4f);
    for (const float factor : factors) y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(factor));
    y = _mm512_add_ps(_mm512_fmadd_ps(_mm512_mul_ps(y, r), r, r), _mm512_set1_ps(1.0f));
    return _mm512_maskz_mov_ps(static_cast<__mmask16>(~nothing), _mm512_scalef_ps(y, n));
}

// Candidates [first, last), a block at most, as left panels, dim deep.
void pack_by_dim(const TileChunk& chunk, std::int64_t first, std::int64_t last, std::uint16_t* to) {
    const std::int64_t deep = padded(chunk.dim);
    Words tile[16];
    for (std::int64_t row = 0; row < padded(last - first); row += half) {
        const Rows rows{chunk.candidates, first + row, last, chunk.dim};
        for (std::int64_t d = 0; d < deep; d += tile_deep) {
            rows.tile_by_dim(d, tile);
            store_tile(to + row * deep + d * tile_wide, tile);
        }
    }
}

// The same as left panels for 16 numbers of dim each, rows deep.
void pack_by_row(const TileChunk& chunk, std::int64_t first, std::int64_t last, std::uint16_t* to) {
    const std::int64_t long_way = padded(last - first);
    Words tile[16];
    for (std::int64_t row = 0; row < long_way; row += tile_deep) {
        const Rows rows{chunk.candidates, first + row, last, chunk.dim};
        for (std::int64_t d = 0; d < padded(chunk.dim); d += half) {
            rows.tile_by_row(d, tile);
            transpose(tile);
            store_tile(to + d * long_way + row * tile_wide, tile);
        }
    }
}

// The place of the first hidden pair whose candidate is not before `candidate`.
inline std::int64_t first_hidden(const TileChunk& chunk, std::int64_t candidate) {
    std::int64_t low = 0, high = chunk.hidden;
    while (low < high) {
        const std::int64_t middle = (low + high) / 2;
        if (chunk.hidden_candidates[middle] < candidate) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Scores of a block of candidates [first, last) with the 32 queries from `query` on into work.scores.
void block_scores(const TileChunk& chunk, const PackedQueries& packed, std::int64_t first, std::int64_t last, std::int64_t query,
                  const Workspace& work, std::int64_t hidden, std::int64_t hidden_end) {
    const std::int64_t deep = padded(chunk.dim);
    for (std::int64_t row = 0; row < last - first; row += whole)
        multiply(work.candidates + row * deep, half * deep, packed.by_dim + query * deep, half * deep, deep / tile_deep,
                 work.scores + row * whole, false);
    if (chunk.corrections)
        for (std::int64_t row = 0; row < last - first; ++row) {
            const __m512 correction = _mm512_set1_ps(chunk.corrections[first + row]);
            for (std::int64_t side = 0; side < 2; ++side) {
                float* place = work.scores + row * whole + side * half;
                _mm512_store_ps(place, _mm512_sub_ps(_mm512_load_ps(place), correction));
            }
        }
    if (chunk.by_class.classes)
        for (std::int64_t row = 0; row < last - first; ++row) {
            const float* taken = chunk.by_class.taken + chunk.by_class.classes[first + row] * chunk.by_class.queries + query;
            for (std::int64_t side = 0; side < 2; ++side) {
                float* place = work.scores + row * whole + side * half;
                const __m512 correction =
                    _mm512_maskz_loadu_ps(first_lanes(chunk.queries - query - side * half), taken + side * half);
                _mm512_store_ps(place, _mm512_sub_ps(_mm512_load_ps(place), correction));
            }
        }
    for (; hidden < hidden_end; ++hidden) {
        const std::int64_t column = chunk.hidden_queries[hidden] - query;
        if (column >= 0 && column < whole)
            work.scores[(chunk.hidden_candidates[hidden] - first) * whole + column] = -__builtin_inff();
    }
}

// A block's scores of 16 queries into their highest and sum.
inline void add_to_sums(const float* scores, std::int64_t rows, float* highest, float* sum) {
    const __m512 before = _mm512_loadu_ps(highest);
    __m512 top = before;
    for (std::int64_t row = 0; row < rows; ++row) top = _mm512_max_ps(top, _mm512_loadu_ps(scores + row * whole));
    // max_ps returns its second operand where one is NaN. The sum is then NaN too.
    __m512 total = _mm512_mul_ps(_mm512_loadu_ps(sum), exp_of(_mm512_sub_ps(before, top)));
    for (std::int64_t row = 0; row < rows; ++row)
        total = _mm512_add_ps(total, exp_of(_mm512_sub_ps(_mm512_loadu_ps(scores + row * whole), top)));
    _mm512_storeu_ps(highest, top);
    _mm512_storeu_ps(sum, total);
}

// Shares of 32 queries among a block of `rows` candidates, packed in both ways. Rows beyond are 0.
inline void pack_shares(const TileChunk& chunk, std::int64_t rows, std::int64_t query, const Exponentials& shares,
                        const Workspace& work) {
    const std::int64_t deep = padded(chunk.queries), long_way = padded(rows);
    __m512 highest[2], factor[2];
    for (int side = 0; side < 2; ++side) {
        highest[side] = _mm512_loadu_ps(shares.highest + query + side * half);
        factor[side] = _mm512_loadu_ps(shares.sum + query + side * half);
    }
    for (std::int64_t row = 0; row < long_way; row += 2) {
        __m512 share[2][2];
        for (int more = 0; more < 2; ++more)
            for (int side = 0; side < 2; ++side) {
                const __m512 score = _mm512_loadu_ps(work.scores + (row + more) * whole + side * half);
                share[more][side] = row + more < rows ? _mm512_mul_ps(exp_of(_mm512_sub_ps(score, highest[side])), factor[side])
                                                      : _mm512_setzero_ps();
            }
        for (int more = 0; more < 2; ++more) {
            const std::int64_t place = row + more;
            std::uint16_t* tile = work.shares + place / half * half * deep + query / tile_deep * tile_size;
            _mm512_store_si512(tile + place % half * tile_deep, rounded(share[more][0], share[more][1]));
        }
        for (int side = 0; side < 2; ++side) {
            std::uint16_t* tile = work.shares_by_row + (query + side * half) * long_way + row / tile_deep * tile_size;
            _mm512_store_si512(tile + row % tile_deep / 2 * tile_deep, pairs_of(share[0][side], share[1][side]));
        }
    }
}

// The rows and columns that exist of a block of candidates' gradients into `to` (.., dim).
inline void put_block(const float* block, std::int64_t rows, std::int64_t columns, float* to, std::int64_t dim, bool add) {
    const __mmask16 there[2] = {first_lanes(columns), first_lanes(columns - half)};
    for (std::int64_t row = 0; row < least(rows, whole); ++row)
        for (std::int64_t side = 0; side < 2; ++side) {
            float* place = to + row * dim + side * half;
            __m512 numbers = _mm512_load_ps(block + row * whole + side * half);
            if (add) numbers = _mm512_add_ps(numbers, _mm512_maskz_loadu_ps(there[side], place));
            _mm512_mask_storeu_ps(place, there[side], numbers);
        }
}

}  // namespace

namespace amx {

void pack_queries(const TileChunk& chunk, std::int64_t first, std::int64_t last, const PackedQueries& to) {
    const std::int64_t deep = padded(chunk.dim), long_way = padded(chunk.queries) / tile_deep;
    Words tile[16];
    for (std::int64_t query = first; query < last; query += whole) {
        for (std::int64_t row = query; row < query + whole; row += half) {
            const Rows rows{chunk.query, row, chunk.queries, chunk.dim};
            for (std::int64_t d = 0; d < deep; d += tile_deep) {
                rows.tile_by_dim(d, tile);
                transpose(tile);
                store_tile(to.by_dim + row * deep + d * tile_wide, tile);
            }
        }
        const Rows rows{chunk.query, query, chunk.queries, chunk.dim};
        for (std::int64_t d = 0; d < deep; d += half) {
            rows.tile_by_row(d, tile);
            store_tile(to.by_query + (d / half * long_way + query / tile_deep) * tile_size, tile);
        }
    }
}

void add_exponentials(const TileChunk& chunk, const PackedQueries& packed, std::int64_t first, std::int64_t last,
                      const Exponentials& sums, const Workspace& work) {
    const Session session;
    for (std::int64_t left = first; left < last; left += block_rows) {
        const std::int64_t right = least(left + block_rows, last);
        const std::int64_t hidden = first_hidden(chunk, left), hidden_end = first_hidden(chunk, right);
        pack_by_dim(chunk, left, right, work.candidates);
        for (std::int64_t query = 0; query < chunk.queries; query += whole) {
            block_scores(chunk, packed, left, right, query, work, hidden, hidden_end);
            for (std::int64_t column = 0; column < whole; column += half)
                add_to_sums(work.scores + column, right - left, sums.highest + query + column, sums.sum + query + column);
        }
    }
}

void add_gradients(const TileChunk& chunk, const PackedQueries& packed, std::int64_t first, std::int64_t last,
                   const Exponentials& shares, const Workspace& work, const TileGradients& out) {
    const Session session;
    const std::int64_t dim = chunk.dim, deep = padded(dim), queries = padded(chunk.queries);
    alignas(64) float block[whole * whole];
    for (std::int64_t left = first; left < last; left += block_rows) {
        const std::int64_t right = least(left + block_rows, last), rows = right - left, long_way = padded(rows);
        const std::int64_t hidden = first_hidden(chunk, left), hidden_end = first_hidden(chunk, right);
        pack_by_dim(chunk, left, right, work.candidates);
        pack_by_row(chunk, left, right, work.candidates_by_row);
        for (std::int64_t query = 0; query < queries; query += whole) {
            block_scores(chunk, packed, left, right, query, work, hidden, hidden_end);
            pack_shares(chunk, rows, query, shares, work);
        }
        for (std::int64_t d = 0; d < dim; d += whole)
            for (std::int64_t row = 0; row < rows; row += whole) {
                const std::uint16_t *a = work.shares + row * queries, *b = packed.by_query + d * queries;
                multiply(a, half * queries, b, half * queries, queries / tile_deep, block, false);
                put_block(block, rows - row, dim - d, out.d_candidates + (left + row) * dim + d, dim, out.add);
            }
        for (std::int64_t query = 0; query < queries; query += whole)
            for (std::int64_t d = 0; d < deep; d += whole)
                multiply(work.candidates_by_row + d * long_way, half * long_way, work.shares_by_row + query * long_way,
                         half * long_way, long_way / tile_deep, work.d_query + (query * deep + d * whole), true);
    }
}

}  // namespace amx
}  // namespace marius
#endif
