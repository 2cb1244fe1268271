// The kernels: each thread calls a body with its place in the grid.
#include "cuda/kernels.h"

#include <cuda_runtime.h>

namespace marius {
namespace {

__device__ __forceinline__ Place this_place() {
    return {.block = blockIdx.x,
            .blocks = gridDim.x,
            .thread = static_cast<int>(threadIdx.x),
            .threads = static_cast<int>(blockDim.x)};
}

// clang-format off
template <int bytes> struct Word;
template <> struct Word<16> { using type = uint4; };
template <> struct Word<8> { using type = uint2; };
template <> struct Word<4> { using type = unsigned int; };
template <> struct Word<2> { using type = unsigned short; };
template <> struct Word<1> { using type = unsigned char; };
// clang-format on

// For rows that are used once: they should leave the caches before anything else.
struct StreamingMemory {
    template <class V>
    __device__ __forceinline__ V load(const void* address) const {
        const auto word = __ldcs(static_cast<const typename Word<sizeof(V)>::type*>(address));
        V value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    template <class V>
    __device__ __forceinline__ void store(void* address, const V& value) const {
        typename Word<sizeof(V)>::type word;
        memcpy(&word, &value, sizeof word);
        __stcs(static_cast<typename Word<sizeof(V)>::type*>(address), word);
    }
};

struct CachedMemory {
    template <class V>
    __device__ __forceinline__ V load(const void* address) const {
        const auto word = *static_cast<const typename Word<sizeof(V)>::type*>(address);
        V value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    template <class V>
    __device__ __forceinline__ void store(void* address, const V& value) const {
        typename Word<sizeof(V)>::type word;
        memcpy(&word, &value, sizeof word);
        *static_cast<typename Word<sizeof(V)>::type*>(address) = word;
    }
};

__device__ __forceinline__ unsigned int multiprocessor() {
    unsigned int id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

template <class Source, class Target>
__global__ void __launch_bounds__(copy_threads) copy_rows_kernel(const __grid_constant__ CopyRows job) {
    if (job.sm_flags && threadIdx.x == 0) job.sm_flags[multiprocessor() % MARIUS_CUDA_SM_FLAGS] = 1;
    StreamingMemory memory;
    copy_rows<Source, Target>(job, this_place(), memory);
}

template <class Floats>
__global__ void __launch_bounds__(compute_threads) segment_sum_kernel(const __grid_constant__ SegmentSum job) {
    CachedMemory memory;
    segment_sum<Floats>(job, this_place(), memory);
}

template <class Optimizer>
__global__ void __launch_bounds__(compute_threads) step_rows_kernel(const __grid_constant__ RowStepJob job) {
    step_rows<Optimizer>(job, this_place());
}

template <class Optimizer, class Floats>
__global__ void __launch_bounds__(compute_threads) step_columns_kernel(const __grid_constant__ RowStepJob job) {
    CachedMemory memory;
    step_columns<Optimizer, Floats>(job, this_place(), memory);
}

// Reduces numbers of the lanes of a warp, by exchanges in pairs: every lane adds the same numbers in the same order.
struct Warp {
    static constexpr int bits = warp_bits;
    __device__ __forceinline__ float max(float x) const {
#pragma unroll
        for (int apart = 1; apart < 1 << bits; apart *= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, apart));
        return x;
    }
    __device__ __forceinline__ float sum(float x) const {
#pragma unroll
        for (int apart = 1; apart < 1 << bits; apart *= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
        return x;
    }
};

template <class Floats, bool held>
__global__ void __launch_bounds__(compute_threads) softmax_loss_kernel(const __grid_constant__ SoftmaxLoss job) {
    CachedMemory memory;
    softmax_loss<Floats, held>(job, this_place(), memory, Warp{});
}

template <int stage>
__global__ void __launch_bounds__(compute_threads) neighbours_kernel(const __grid_constant__ marius_cuda_neighbours job) {
    neighbours<stage>(job, this_place());
}

template <class Job>
int launched(void (*kernel)(const Job), void* stream, const Job& job, Grid grid) {
    kernel<<<static_cast<unsigned int>(grid.blocks), grid.threads, 0, static_cast<cudaStream_t>(stream)>>>(job);
    return cudaGetLastError();
}

}  // namespace

int launch_copy_rows(void* stream, const CopyRows& job, Grid grid) {
    int code = 0;
    with_vectors(job, [&](auto source, auto target) {
        code = launched(copy_rows_kernel<decltype(source), decltype(target)>, stream, job, grid);
    });
    return code;
}

int launch_segment_sum(void* stream, const SegmentSum& job, Grid grid) {
    if (job.vector_elements == 4) return launched(segment_sum_kernel<Vector<float, 4>>, stream, job, grid);
    return launched(segment_sum_kernel<Vector<float, 1>>, stream, job, grid);
}

int launch_step_rows(void* stream, const RowStepJob& job, Grid grid) {
    int code = 0;
    formulas::with_optimizer(job.optimizer, [&](auto optimizer) {
        if constexpr (decltype(optimizer)::per_row) code = launched(step_rows_kernel<decltype(optimizer)>, stream, job, grid);
    });
    return code;
}

int launch_step_columns(void* stream, const RowStepJob& job, Grid grid) {
    int code = 0;
    with_kind(job, [&](auto optimizer, auto floats) {
        code = launched(step_columns_kernel<decltype(optimizer), decltype(floats)>, stream, job, grid);
    });
    return code;
}

int launch_softmax_loss(void* stream, const SoftmaxLoss& job, Grid grid) {
    int code = 0;
    with_form<Warp>(job, [&](auto floats, auto held) {
        code = launched(softmax_loss_kernel<decltype(floats), decltype(held)::value>, stream, job, grid);
    });
    return code;
}

int launch_neighbours(void* stream, int stage, const marius_cuda_neighbours& job, Grid grid) {
    int code = 0;
    with_stage(stage, [&](auto known) { code = launched(neighbours_kernel<decltype(known)::value>, stream, job, grid); });
    return code;
}

}  // namespace marius
