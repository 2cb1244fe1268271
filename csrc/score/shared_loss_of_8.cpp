// Losses of shared candidates by vectors of 8 numbers: AVX2; see CMakeLists.txt.
#if defined(__x86_64__)
#include "score/shared_loss_loops.h"

namespace marius {

constinit const SharedLossKernel shared_loss_of_8 = kernel_of<Plain>("avx2");

}  // namespace marius
#endif
