// MARIUS_BOTH marks functions that are compiled for the CPU and for the GPU.
#pragma once

#if defined(__CUDACC__)
#define MARIUS_BOTH __host__ __device__ __forceinline__
#else
#define MARIUS_BOTH __attribute__((always_inline)) inline
#endif
