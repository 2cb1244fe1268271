// The shared softmax by vectors of 4 numbers, which every processor has.
#include "score/shared_softmax_loops.h"

namespace marius {

constinit const SharedSoftmaxKernel shared_softmax_of_4 = kernel_of<Plain>("vectors");

}  // namespace marius
