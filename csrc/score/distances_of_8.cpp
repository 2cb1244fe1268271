// Distances by vectors of 8 numbers: AVX2 and FMA; see CMakeLists.txt.
#if defined(__x86_64__)
#include "score/distance_loops.h"

namespace marius {

const DistanceKernels distances_of_8 = {8, functions_of_term<Magnitude>, functions_of_term<Modulus>};

}  // namespace marius
#endif
