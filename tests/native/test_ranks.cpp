// Scores above and not below those of true answers: by definition, in a part of a larger tile, whatever the number of threads.
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.h"
#include "score/ranks.h"

using namespace marius;

namespace {

void check_against_definition(std::int64_t rows, std::int64_t columns, std::int64_t gap, int threads) {
    const float values[] = {-1, 0, 1, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
    std::mt19937_64 random(rows * 1000 + columns);
    std::vector<float> scores(rows * (columns + gap)), positives(rows);
    for (float& score : scores) score = values[random() % 5];
    for (float& positive : positives) positive = values[random() % 3];
    std::vector<std::int64_t> above(rows, 3), not_below(rows, 5);
    count_answers({scores.data(), rows, columns, columns + gap}, positives.data(), above.data(), not_below.data(), threads);
    for (std::int64_t row = 0; row < rows; ++row) {
        std::int64_t more = 3, no_less = 5;
        for (std::int64_t column = 0; column < columns; ++column) {
            const float score = scores[row * (columns + gap) + column];
            more += score > positives[row];
            no_less += score >= positives[row];
        }
        CHECK(above[row] == more && not_below[row] == no_less);
    }
}

}  // namespace

int main() {
    for (int threads : {1, 3})
        for (std::int64_t rows : {0, 1, 15, 100})
            for (std::int64_t columns : {0, 1, 17, 300}) check_against_definition(rows, columns, rows % 2, threads);
}
