// Distances by vectors of 4 numbers: vectors that every processor has.
#include "score/distance_loops.h"

namespace marius {

const DistanceKernels distances_of_4 = {4, pieces_of_term<Magnitude>, pieces_of_term<Modulus>};

}  // namespace marius
