// The softmax loss and its gradient: by definition, at extremes, and whatever the number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "check.h"
#include "score/softmax.h"

using namespace marius;

namespace {

constexpr float INFINITE = std::numeric_limits<float>::infinity();

void check_against_definition(std::int64_t rows, std::int64_t columns, float spread) {
    std::mt19937_64 random(rows * 1000 + columns);
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> positives(rows), negatives(rows * columns), losses(rows);
    for (float& score : positives) score = normal(random);
    for (float& score : negatives) score = normal(random);
    if (columns > 1) negatives[1] = -INFINITE;
    std::vector<float> own = positives, ours = negatives, own_two = positives, two = negatives, other(rows);
    softmax_loss(own.data(), ours.data(), rows, columns, losses.data(), 1);
    softmax_loss(own_two.data(), two.data(), rows, columns, other.data(), 2);
    CHECK(std::memcmp(own.data(), own_two.data(), own.size() * sizeof(float)) == 0);
    CHECK(columns == 0 || std::memcmp(ours.data(), two.data(), ours.size() * sizeof(float)) == 0);
    CHECK(std::memcmp(losses.data(), other.data(), losses.size() * sizeof(float)) == 0);
    for (std::int64_t r = 0; r < rows; ++r) {
        const float* row = negatives.data() + r * columns;
        double highest = positives[r], sum = 0;
        for (std::int64_t c = 0; c < columns; ++c) highest = std::max<double>(highest, row[c]);
        for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(row[c] - highest);
        sum += std::exp(positives[r] - highest);
        const double loss = std::log(sum) + highest - positives[r];
        CHECK(std::abs(losses[r] - loss) <= 1e-5 * (1 + std::abs(loss)));
        CHECK(std::abs(own[r] - (std::exp(positives[r] - highest) / sum - 1)) <= 2e-6);
        for (std::int64_t c = 0; c < columns; ++c)
            CHECK(std::abs(ours[r * columns + c] - std::exp(row[c] - highest) / sum) <= 2e-6);
    }
}

void check_extremes() {
    std::vector<float> positive{-1e30f}, negatives{1e30f, -INFINITE, 0}, losses(1);
    softmax_loss(positive.data(), negatives.data(), 1, 3, losses.data(), 1);
    CHECK(losses[0] == 2e30f);
    CHECK(positive[0] == -1 && negatives[0] == 1 && negatives[1] == 0 && negatives[2] == 0);
    std::vector<float> zero{0}, broken{std::numeric_limits<float>::quiet_NaN(), 1};
    softmax_loss(zero.data(), broken.data(), 1, 2, losses.data(), 1);
    CHECK(std::isnan(losses[0]));
    softmax_loss(nullptr, nullptr, 0, 3, nullptr, 2);
}

}  // namespace

int main() {
    for (std::int64_t columns : {0, 1, 2, 15, 16, 17, 33, 1000})
        for (float spread : {0.1f, 5.0f, 60.0f}) check_against_definition(7, columns, spread);
    check_extremes();
}
