#include "score/ranks.h"

#include "base/parallel.h"

namespace marius {
namespace {

constexpr std::int64_t few_rows = 16;  // of a range that a thread takes: about 64 KiB of scores

}  // namespace

void count_answers(const ScoreRows& tile, const float* positives, std::int64_t* above, std::int64_t* not_below, int threads) {
    parallel_for(tile.rows, few_rows, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            const float* scores = tile.scores + row * tile.stride;
            const float positive = positives[row];
            std::int32_t more = 0, no_less = 0;  // as wide as scores, so that the loop runs in vectors
            for (std::int64_t column = 0; column < tile.columns; ++column) {
                more += scores[column] > positive;
                no_less += scores[column] >= positive;
            }
            above[row] += more;
            not_below[row] += no_less;
        }
    });
}

}  // namespace marius
