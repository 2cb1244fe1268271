// Attention by any vectors of 4 numbers.
#include "layers/attention_loops.h"

namespace marius {

const AttentionKernels attention_of_4 = {4, share_size, attention_functions<float>, attention_functions<std::uint16_t>};

}  // namespace marius
