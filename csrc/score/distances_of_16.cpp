// Distances by vectors of 16 numbers: AVX-512; see CMakeLists.txt.
#if defined(__x86_64__)
#include "score/distance_loops.h"

namespace marius {

const DistanceKernels distances_of_16 = {16, functions_of_term<Magnitude>, functions_of_term<Modulus>};

}  // namespace marius
#endif
