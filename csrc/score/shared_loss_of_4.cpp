// Losses of shared candidates by vectors of 4 numbers, which every processor has.
#include "score/shared_loss_loops.h"

namespace marius {

constinit const SharedLossKernel shared_loss_of_4 = kernel_of<Plain>("vectors");

}  // namespace marius
