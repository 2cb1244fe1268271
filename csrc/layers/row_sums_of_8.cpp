// Sums of rows by vectors of 8 numbers: AVX2 and FMA; see CMakeLists.txt.
#if defined(__x86_64__)
#include "layers/row_sums_loops.h"

namespace marius {

const RowSums row_sums_of_8 = row_sums_functions;

}  // namespace marius
#endif
