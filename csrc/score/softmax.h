// The softmax loss of link prediction over tiles of scores. Its gradient overwrites the scores.
#pragma once
#include <cstdint>

namespace marius {

// Row r has the score of its positive in positives[r], and those of its negatives in row r of `negatives` (rows, columns).
// losses[r] becomes log(sum of exp of all of them) - positive. The scores become its gradient: the softmax of all of them, 1
// less for the positive. A score of -inf has the gradient 0; a NaN score makes the row's loss NaN. The same bits for any
// number of threads and any vector width.
void softmax_loss(float* positives, float* negatives, std::int64_t rows, std::int64_t columns, float* losses, int threads);

}  // namespace marius
