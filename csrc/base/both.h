// Marks functions that the CPU's and the GPU's compilers both build.
#pragma once

#if defined(__CUDACC__)
#define MARIUS_BOTH __host__ __device__ __forceinline__
#else
#define MARIUS_BOTH __attribute__((always_inline)) inline
#endif
