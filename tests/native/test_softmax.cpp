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
    std::vector<float> scores(rows * columns), losses(rows);
    for (float& score : scores) score = normal(random);
    if (columns > 2) scores[2] = -INFINITE;
    std::vector<float> ours = scores, two = scores, other(rows);
    softmax_loss(ours.data(), rows, columns, losses.data(), 1);
    softmax_loss(two.data(), rows, columns, other.data(), 2);
    CHECK(std::memcmp(ours.data(), two.data(), ours.size() * sizeof(float)) == 0);
    CHECK(std::memcmp(losses.data(), other.data(), losses.size() * sizeof(float)) == 0);
    for (std::int64_t r = 0; r < rows; ++r) {
        const float* row = scores.data() + r * columns;
        double highest = -INFINITE, sum = 0;
        for (std::int64_t c = 0; c < columns; ++c) highest = std::max<double>(highest, row[c]);
        for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(row[c] - highest);
        const double loss = std::log(sum) + highest - row[0];
        CHECK(std::abs(losses[r] - loss) <= 1e-5 * (1 + std::abs(loss)));
        for (std::int64_t c = 0; c < columns; ++c) {
            const double gradient = std::exp(row[c] - highest) / sum - (c == 0);
            CHECK(std::abs(ours[r * columns + c] - gradient) <= 2e-6);
        }
    }
}

void check_extremes() {
    std::vector<float> scores{-1e30f, 1e30f, -INFINITE, 0}, losses(1);
    softmax_loss(scores.data(), 1, 4, losses.data(), 1);
    CHECK(losses[0] == 2e30f);
    CHECK(scores[0] == -1 && scores[1] == 1 && scores[2] == 0 && scores[3] == 0);
    std::vector<float> broken{0, std::numeric_limits<float>::quiet_NaN(), 1};
    softmax_loss(broken.data(), 1, 3, losses.data(), 1);
    CHECK(std::isnan(losses[0]));
    softmax_loss(nullptr, 0, 3, nullptr, 2);
}

}  // namespace

int main() {
    for (std::int64_t columns : {1, 2, 15, 16, 17, 33, 1000})
        for (float spread : {0.1f, 5.0f, 60.0f}) check_against_definition(7, columns, spread);
    check_extremes();
}
