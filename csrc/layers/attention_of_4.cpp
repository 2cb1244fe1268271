// Attention by vectors of 4 numbers: vectors that every processor has.
#include "layers/attention_loops.h"

namespace marius {

const AttentionKernels attention_of_4 = {4, share_size, attention_functions<float>, attention_functions<std::uint16_t>};

}  // namespace marius
