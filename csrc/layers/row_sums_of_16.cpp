// Sums of rows by vectors of 16 numbers: AVX-512; see CMakeLists.txt.
#if defined(__x86_64__)
#include "layers/row_sums_loops.h"

namespace marius {

const RowSums row_sums_of_16 = row_sums_functions;

}  // namespace marius
#endif
