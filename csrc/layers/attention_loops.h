// The loops of attention over vectors as wide as the including file is compiled for; see lanes.h.
#pragma once
#include "layers/attention_kernels.h"
#include "layers/numbers.h"

namespace marius {
namespace {  // a copy for each file

// Vectors of a head. What `share` holds of a row: weights, gradients of scores, and a word of signs for each vector.
inline std::int64_t vectors_of(const Heads& heads) { return (heads.width + width - 1) / width; }

inline std::int64_t share_size(const Heads& heads) { return 2 * heads.count + (heads.count * vectors_of(heads) + 1) / 2; }

inline char* signs_of(const Heads& heads, float* share, std::int64_t head) {
    return reinterpret_cast<char*>(share + 2 * heads.count) + 2 * head * vectors_of(heads);
}

inline const char* signs_of(const Heads& heads, const float* share, std::int64_t head) {
    return signs_of(heads, const_cast<float*>(share), head);
}

// Calls body(first number, how many) for each vector of a head.
template <class Body> inline void each_vector(const Heads& heads, std::int64_t head, const Body& body) {
    const std::int64_t begin = head * heads.width, end = begin + heads.width;
    for (std::int64_t c = begin; c < end; c += width) body(c, end - c < width ? end - c : width);
}

inline Lanes slopes(Lanes z, Lanes slope) { return z > Lanes{} ? all(1.0f) : slope; }

// A bit for each lane: whether it is above 0.
inline std::uint16_t signs(Lanes z) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(z, Lanes{}, _CMP_GT_OQ);
#elif defined(__AVX2__)
    return static_cast<std::uint16_t>(_mm256_movemask_ps((Lanes)(z > Lanes{})));
#elif defined(__x86_64__)
    return static_cast<std::uint16_t>(_mm_movemask_ps((Lanes)(z > Lanes{})));
#else
    std::uint16_t bits = 0;
    for (int lane = 0; lane < width; ++lane) bits |= (z[lane] > 0.0f) << lane;
    return bits;
#endif
}

// What `slopes` gives for z with these signs.
inline Lanes slopes(std::uint16_t bits, Lanes slope) {
#if defined(__AVX512F__)
    return _mm512_mask_blend_ps(bits, slope, all(1.0f));
#else
    Bits places;
    for (int lane = 0; lane < width; ++lane) places[lane] = 1 << lane;
    return (places & bits) != 0 ? all(1.0f) : slope;
#endif
}

template <class Number>
inline float score(const Heads& heads, std::int64_t head, const Number* row, const Number* right) {
    Lanes total{};
    const Lanes slope = all(heads.slope);
    each_vector(heads, head, [&](std::int64_t c, std::int64_t n) {
        const Lanes z = numbers(row + c, n) + numbers(right + c, n);
        total = fused(load_some(heads.vector + c, n), z * slopes(z, slope), total);
    });
    return sum(total);
}

template <class Number> inline float inner(const Heads& heads, std::int64_t head, const Number* a, const Number* b) {
    Lanes total{};
    each_vector(heads, head, [&](std::int64_t c, std::int64_t n) { total = fused(numbers(a + c, n), numbers(b + c, n), total); });
    return sum(total);
}

// Makes softmaxes over the rows of scores (count, heads), head by head.
inline void soften(std::int64_t heads, std::int64_t count, float* scores) {
    const std::int64_t all_scores = count * heads;
    for (std::int64_t h = 0; h < heads; ++h) {
        float most = scores[h];
        for (std::int64_t i = h; i < all_scores; i += heads) most = scores[i] > most ? scores[i] : most;
        for (std::int64_t i = h; i < all_scores; i += heads) scores[i] -= most;
    }
    for (std::int64_t i = 0; i < all_scores; i += width) {
        const std::int64_t n = all_scores - i < width ? all_scores - i : width;
        store_some(scores + i, exp_of(load_some(scores + i, n)), n);
    }
    for (std::int64_t h = 0; h < heads; ++h) {
        float total = 0.0f;
        for (std::int64_t i = h; i < all_scores; i += heads) total += scores[i];
        for (std::int64_t i = h; i < all_scores; i += heads) scores[i] /= total;
    }
}

constexpr std::int64_t rows_at_once = 32;  // so that they stay in a core's first cache while their vectors are added up

template <class Number>
void attend_to(const Heads& heads, const Number* const* rows, std::int64_t count, const Number* right, const float* kept,
               float* weights, Number* out, float* sums) {
    for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t h = 0; h < heads.count; ++h) weights[k * heads.count + h] = score(heads, h, rows[k], right);
    soften(heads.count, count, weights);
    for (std::int64_t first = 0; first < count; first += rows_at_once) {
        const std::int64_t last = count - first < rows_at_once ? count : first + rows_at_once;
        for (std::int64_t h = 0; h < heads.count; ++h)
            each_vector(heads, h, [&](std::int64_t c, std::int64_t n) {
                Lanes total = first == 0 ? Lanes{} : load_some(sums + c, n);
                for (std::int64_t k = first; k < last; ++k) {
                    const std::int64_t i = k * heads.count + h;
                    total = fused(all(kept ? weights[i] * kept[i] : weights[i]), numbers(rows[k] + c, n), total);
                }
                if (last == count) put(out + c, total, n);
                else store_some(sums + c, total, n);
            });
    }
}

template <class Number>
void target_gradients(const Heads& heads, const Number* const* rows, std::int64_t count, const Number* right, const float* kept,
                      const float* weights, const Number* grad, float* shares, Number* d_right, float* d_vector) {
    const std::int64_t size = share_size(heads);
    for (std::int64_t h = 0; h < heads.count; ++h) {
        float mean = 0.0f;
        for (std::int64_t k = 0; k < count; ++k) {
            const std::int64_t i = k * heads.count + h;
            float* share = shares + k * size + h;
            const float factor = kept ? kept[i] : 1.0f, d_weight = factor * inner(heads, h, rows[k], grad);
            share[0] = weights[i] * factor;
            share[heads.count] = d_weight;
            mean += weights[i] * d_weight;
        }
        for (std::int64_t k = 0; k < count; ++k) {
            float& d_score = shares[k * size + heads.count + h];
            d_score = weights[k * heads.count + h] * (d_score - mean);
        }
        const Lanes slope = all(heads.slope);
        char* bits = signs_of(heads, shares, h);
        each_vector(heads, h, [&](std::int64_t c, std::int64_t n) {
            Lanes inside{}, vector = load_some(d_vector + c, n);
            const Lanes own = numbers(right + c, n);
            for (std::int64_t k = 0; k < count; ++k) {
                const Lanes z = numbers(rows[k] + c, n) + own;
                const Lanes part = all(shares[k * size + heads.count + h]) * slopes(z, slope);
                const std::uint16_t above = signs(z);
                __builtin_memcpy(bits + k * size * sizeof(float), &above, sizeof above);
                inside += part;
                vector = fused(part, z, vector);
            }
            bits += sizeof(std::uint16_t);
            put(d_right + c, inside * load_some(heads.vector + c, n), n);
            store_some(d_vector + c, vector, n);
        });
    }
}

template <class Number>
void source_gradient(const Heads& heads, std::int64_t count, const Number* const* grads, const float* const* shares,
                     Number* out) {
    const Lanes slope = all(heads.slope);
    for (std::int64_t h = 0; h < heads.count; ++h) {
        std::int64_t word = 0;
        each_vector(heads, h, [&](std::int64_t c, std::int64_t n) {
            Lanes total{}, inside{};
            for (std::int64_t k = 0; k < count; ++k) {
                std::uint16_t above;
                __builtin_memcpy(&above, signs_of(heads, shares[k], h) + word, sizeof above);
                total = fused(all(shares[k][h]), numbers(grads[k] + c, n), total);
                inside = fused(all(shares[k][heads.count + h]), slopes(above, slope), inside);
            }
            word += sizeof(std::uint16_t);
            put(out + c, fused(inside, load_some(heads.vector + c, n), total), n);
        });
    }
}

template <class Number>
constexpr AttentionFunctions<Number> attention_functions = {attend_to<Number>, target_gradients<Number>, source_gradient<Number>};

}  // namespace
}  // namespace marius
