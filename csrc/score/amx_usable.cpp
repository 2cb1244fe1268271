#if defined(MARIUS_AMX)
#include <sys/syscall.h>
#include <unistd.h>

#include "score/shared_loss_kernels.h"

namespace marius {

// The operating system saves tiles only for processes that have asked for it.
bool amx_usable() {
    constexpr int request = 0x1023, tiles = 18;
    return __builtin_cpu_supports("amx-bf16") && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
           syscall(SYS_arch_prctl, request, tiles) == 0;
}

}  // namespace marius
#endif
