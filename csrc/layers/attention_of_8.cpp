// Attention by vectors of 8 numbers: AVX2 and FMA; see CMakeLists.txt.
#if defined(__x86_64__)
#include "layers/attention_loops.h"

namespace marius {

const AttentionKernels attention_of_8 = {8, share_size, attention_functions<float>, attention_functions<std::uint16_t>};

}  // namespace marius
#endif
