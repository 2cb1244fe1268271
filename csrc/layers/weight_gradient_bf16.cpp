// Weights' gradients by AVX512-BF16; see CMakeLists.txt.
#if defined(MARIUS_BF16)
#include <immintrin.h>

#include "layers/weight_gradient_kernels.h"

namespace marius {
namespace {

std::int64_t up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

// 32 numbers of a row, 0 from `count` on.
__m512i some(const std::uint16_t* from, std::int64_t count) {
    if (count >= 32) return _mm512_loadu_si512(from);
    return count <= 0 ? _mm512_setzero_si512() : _mm512_maskz_loadu_epi16(static_cast<__mmask32>((1u << count) - 1), from);
}

// Words of a number of `first` and the one of `second` in the same place: places 0 to 15, and 16 to 31.
struct Pairs {
    __m512i low, high;
};

Pairs pairs_of(__m512i first, __m512i second) {
    const __m512i ones = _mm512_set1_epi32(0xffff), low = _mm512_and_si512(first, ones);
    const __m512i even = _mm512_or_si512(low, _mm512_slli_epi32(second, 16));                              // places 0, 2, 4, ...
    const __m512i odd = _mm512_or_si512(_mm512_srli_epi32(first, 16), _mm512_andnot_si512(ones, second));  // 1, 3, 5, ...
    const __m512i order_low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i order_high = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
    return {_mm512_permutex2var_epi32(even, order_low, odd), _mm512_permutex2var_epi32(even, order_high, odd)};
}

// Gradients as (pairs, wide) words; their sums are added to `bias`.
void pack_grad(const GradientPart& part, std::int64_t first, std::int64_t pairs, std::int64_t wide, std::uint32_t* out,
               float* bias) {
    for (std::int64_t c = 0; c < part.outer; c += 32) {
        const std::int64_t n = part.outer - c;
        __m512 sums[2] = {_mm512_loadu_ps(bias + c), _mm512_loadu_ps(bias + c + 16)};
        const auto row = [&](std::int64_t r) {
            if (r >= part.count) return _mm512_setzero_si512();
            const __m512i grad = some(part.grad + r * part.grad_stride + c, n);
            if (!part.rectified) return grad;
            const __m512i seen = some(part.rectified + r * part.grad_stride + c, n);
            return _mm512_maskz_mov_epi16(_mm512_cmpgt_epi16_mask(seen, _mm512_setzero_si512()), grad);
        };
        for (std::int64_t k = 0; k < pairs; ++k) {
            const __m512i one = row(first + 2 * k), two = row(first + 2 * k + 1);
            const Pairs words = pairs_of(one, two);
            // The sum of a pair is the product with two ones. Both are sums of float32.
            const __m512bh ones = (__m512bh)_mm512_set1_epi32(0x3f803f80);
            sums[0] = _mm512_dpbf16_ps(sums[0], (__m512bh)words.low, ones);
            sums[1] = _mm512_dpbf16_ps(sums[1], (__m512bh)words.high, ones);
            const std::int64_t left = wide - c;
            const auto lanes = [](std::int64_t count) {
                return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1u << count) - 1);
            };
            _mm512_mask_storeu_epi32(out + k * wide + c, lanes(left), words.low);
            _mm512_mask_storeu_epi32(out + k * wide + c + 16, lanes(left - 16), words.high);
        }
        _mm512_storeu_ps(bias + c, sums[0]);
        _mm512_storeu_ps(bias + c + 16, sums[1]);
    }
}

// Rows as (panels, pairs, tile_columns) words.
void pack_rows(const GradientPart& part, std::int64_t first, std::int64_t pairs, std::uint32_t* out) {
    for (std::int64_t c = 0; c < part.inner; c += tile_columns)
        for (std::int64_t k = 0; k < pairs; ++k, out += tile_columns) {
            const std::int64_t r = first + 2 * k;
            const auto row = [&](std::int64_t at) {
                return at < part.count ? some(part.rows + at * part.rows_stride + c, part.inner - c) : _mm512_setzero_si512();
            };
            const Pairs words = pairs_of(row(r), row(r + 1));
            _mm512_storeu_si512(out, words.low);
            _mm512_storeu_si512(out + 16, words.high);
        }
}

void add_tile(const std::uint32_t* grad, std::int64_t wide, const std::uint32_t* rows, std::int64_t pairs, float* out,
              std::int64_t out_row) {
    __m512 sums[tile_rows][2];
#pragma GCC unroll 12
    for (int r = 0; r < tile_rows; ++r)
        for (int v = 0; v < 2; ++v) sums[r][v] = _mm512_loadu_ps(out + r * out_row + v * 16);
    for (std::int64_t k = 0; k < pairs; ++k, grad += wide, rows += tile_columns) {
        const __m512bh right[2] = {(__m512bh)_mm512_loadu_si512(rows), (__m512bh)_mm512_loadu_si512(rows + 16)};
#pragma GCC unroll 12
        for (int r = 0; r < tile_rows; ++r) {
            __m512i left = _mm512_set1_epi32(static_cast<int>(grad[r]));
            asm("" : "+v"(left));  // it would be loaded anew for each vector
            sums[r][0] = _mm512_dpbf16_ps(sums[r][0], (__m512bh)left, right[0]);
            sums[r][1] = _mm512_dpbf16_ps(sums[r][1], (__m512bh)left, right[1]);
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < tile_rows; ++r)
        for (int v = 0; v < 2; ++v) _mm512_storeu_ps(out + r * out_row + v * 16, sums[r][v]);
}

// Asks for a share of the memory of the next block, so that it is near when it is packed.
class Ahead {
public:
    Ahead(const GradientPart& part, std::int64_t first, std::int64_t shares) {
        const std::int64_t last = first + 2 * block_pairs < part.count ? first + 2 * block_pairs : part.count;
        if (first >= last) return;
        add(part.grad, part.grad_stride, first, last, shares);
        add(part.rectified, part.grad_stride, first, last, shares);
        add(part.rows, part.rows_stride, first, last, shares);
    }

    void request(std::int64_t share) const {
        for (int i = 0; i < count_; ++i)
            for (std::int64_t at = share * step_[i]; at < (share + 1) * step_[i]; at += 64)
                _mm_prefetch(from_[i] + at, _MM_HINT_T1);
    }

private:
    void add(const std::uint16_t* rows, std::int64_t stride, std::int64_t first, std::int64_t last, std::int64_t shares) {
        if (!rows) return;
        from_[count_] = reinterpret_cast<const char*>(rows + first * stride);
        step_[count_++] = up(2 * (last - first) * stride / shares, 64);
    }

    const char* from_[3] = {};
    std::int64_t step_[3] = {};
    int count_ = 0;
};

}  // namespace

void add_weight_gradient(const GradientPart& part, float* weight, float* bias, std::uint32_t* packed) {
    const std::int64_t wide = up(part.outer, tile_rows), columns = up(part.inner, tile_columns);
    std::uint32_t* rows = packed + block_pairs * wide;
    for (std::int64_t first = 0; first < part.count; first += 2 * block_pairs) {
        const std::int64_t left = (part.count - first + 1) / 2, pairs = left < block_pairs ? left : block_pairs;
        pack_grad(part, first, pairs, wide, packed, bias);
        pack_rows(part, first, pairs, rows);
        const Ahead ahead(part, first + 2 * block_pairs, wide / tile_rows * (columns / tile_columns));
        std::int64_t tile = 0;
        for (std::int64_t c = 0; c < columns; c += tile_columns)
            for (std::int64_t r = 0; r < wide; r += tile_rows) {
                ahead.request(tile++);
                add_tile(packed + r, wide, rows + c * pairs, pairs, weight + r * columns + c, columns);
            }
    }
}

}  // namespace marius
#endif
