// The softmax loss of link prediction over tiles of scores. Its gradient overwrites the scores.
#pragma once
#include <cstdint>

namespace marius {

// Each row of `scores` (rows, columns) holds a positive's score, then its negatives'. losses[r] becomes
// log(sum of exp(scores)) - positive; the row becomes its gradient: softmax(scores), 1 less at the positive. A score of
// -inf has the gradient 0; a NaN score makes the row's loss NaN. The same bits for any number of threads
// and any vector width.
void softmax_loss(float* scores, std::int64_t rows, std::int64_t columns, float* losses, int threads);

}  // namespace marius
