// Compares scores with those of true answers.
#pragma once
#include <cstdint>

namespace marius {

/// Scores of ``rows`` queries with ``columns`` candidates each, a row every ``stride`` numbers.
struct ScoreRows {
    const float* scores = nullptr;
    std::int64_t rows = 0, columns = 0, stride = 0;
};

/// Adds to above[i] how many scores of row i are above positives[i], and to not_below[i] how many are above or equal. NaN is neither.
void count_answers(const ScoreRows& tile, const float* positives, std::int64_t* above, std::int64_t* not_below, int threads);

}  // namespace marius
