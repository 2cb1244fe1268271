// Losses of shared candidates by vectors of 16 numbers: AVX-512; see CMakeLists.txt.
#if defined(__x86_64__)
#include "score/shared_loss_loops.h"

namespace marius {

constinit const SharedLossKernel shared_loss_of_16 = kernel_of<Plain>("avx512");

}  // namespace marius
#endif
