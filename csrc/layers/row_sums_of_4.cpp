// Sums of rows by vectors of 4 numbers: vectors that every processor has.
#include "layers/row_sums_loops.h"

namespace marius {

const RowSums row_sums_of_4 = row_sums_functions;

}  // namespace marius
