// Distances by vectors of 4 numbers: vectors that every processor has.
#include "score/distance_loops.h"

namespace marius {

const DistanceKernels distances_of_4 = {4, functions_of_term<Magnitude>, functions_of_term<Modulus>};

}  // namespace marius
