#include "score/softmax.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "rows/vector.h"

namespace marius {
namespace {

// Sums and maxima go over this many interleaved lanes, so that every vector width adds in the same order.
constexpr int LANES = 16;
constexpr std::int64_t ROWS_AT_A_TIME = 4;

// exp(x) for x <= 0 within 2 units in the last place (Cephes' polynomial), without a branch: 0 below the smallest normal number.
inline float exp_of(float x) {
    constexpr float LOWEST = -87.0f, ROUND = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
    const float bounded = x < LOWEST ? LOWEST : x;
    const float shifted = bounded * 1.44269504088896341f + ROUND;
    const float n = shifted - ROUND;
    const float r = (bounded - n * 0.693359375f) - n * -2.12194440e-4f;
    float y = 1.9875691500e-4f;
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * r * r + r + 1.0f;
    const auto power = (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(ROUND) + 127u) << 23;
    const float value = y * std::bit_cast<float>(power);
    return x < LOWEST ? 0.0f : value;
}

MARIUS_VECTOR_CLONES
float softmax_row(float* own, float* __restrict scores, std::int64_t columns) {
    const float positive = *own;
    const std::int64_t whole = columns / LANES * LANES;
    float lanes[LANES];
    for (int l = 0; l < LANES; ++l) lanes[l] = -std::numeric_limits<float>::infinity();
    for (std::int64_t c = 0; c < whole; c += LANES)
        for (int l = 0; l < LANES; ++l) lanes[l] = scores[c + l] > lanes[l] ? scores[c + l] : lanes[l];
    float highest = lanes[0];
    for (int l = 1; l < LANES; ++l) highest = lanes[l] > highest ? lanes[l] : highest;
    for (std::int64_t c = whole; c < columns; ++c) highest = scores[c] > highest ? scores[c] : highest;
    highest = positive > highest ? positive : highest;

    for (int l = 0; l < LANES; ++l) lanes[l] = 0;
    for (std::int64_t c = 0; c < whole; c += LANES)
        for (int l = 0; l < LANES; ++l) {
            scores[c + l] = exp_of(scores[c + l] - highest);
            lanes[l] += scores[c + l];
        }
    for (std::int64_t c = whole; c < columns; ++c) {
        scores[c] = exp_of(scores[c] - highest);
        lanes[c - whole] += scores[c];
    }
    const float first = exp_of(positive - highest);
    double sum = first;
    for (int l = 0; l < LANES; ++l) sum += lanes[l];

    const float share = static_cast<float>(1 / sum);
    for (std::int64_t c = 0; c < columns; ++c) scores[c] *= share;
    *own = first * share - 1;
    return static_cast<float>(std::log(sum) + highest - positive);
}

}  // namespace

void softmax_loss(float* positives, float* negatives, std::int64_t rows, std::int64_t columns, float* losses, int threads) {
    parallel_for(rows, ROWS_AT_A_TIME, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) losses[r] = softmax_row(positives + r, negatives + r * columns, columns);
    });
}

}  // namespace marius
