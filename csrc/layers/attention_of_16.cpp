// Attention by vectors of 16 numbers: AVX-512; see CMakeLists.txt.
#if defined(__x86_64__)
#include "layers/attention_loops.h"

namespace marius {

const AttentionKernels attention_of_16 = {16, share_size, attention_functions<float>, attention_functions<std::uint16_t>};

}  // namespace marius
#endif
