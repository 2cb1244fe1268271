/* The CUDA library's interface: a table of functions over plain structs, found by the one exported name `marius_cuda`.
 *
 * Addresses are raw: device memory, pinned host memory under its device address, or (host_gather, host_scatter)
 * host memory. `stream` is a cudaStream_t of the device. No call waits for the device, pin and unpin apart; memory
 * named in a call must live until the stream has come past it. Every function returns 0, or a code: CUDA's own, or
 * -1 for arguments that do not fit; `error` then says in one line what failed. The caller's current device stays. */
#pragma once
#include <stdint.h>

#define MARIUS_CUDA_VERSION 1
#define MARIUS_CUDA_SEEN 1024 /* multiprocessor numbers need not be contiguous; none is as high as this */
#define MARIUS_CUDA_PARTS 8 /* gradients of a segment sum, at most */

typedef struct {
    int code;
    char text[480];
} marius_cuda_error;

typedef struct {
    char name[128], pci_bus_id[32];
    int major, minor, multiprocessors, can_map_host_memory;
    int driver_version, runtime_version; /* 1000 major + 10 minor */
    uint64_t memory;                     /* bytes in all */
} marius_cuda_facts;

enum { marius_float32, marius_float16, marius_bfloat16, marius_bytes }; /* bytes: one byte a column, as it is */

/* target[target_rows[i]] = source[source_rows[i]] for i < count, where rows that are null stand for i itself.
 * Rows of the target are written once each: they must not repeat. Floats are converted, to the nearest even. */
typedef struct {
    const void* source;
    void* target;
    const void *source_rows, *target_rows;             /* device memory, or null */
    int64_t count, columns, source_stride, target_stride; /* strides in bytes */
    int source_type, target_type, index_bytes;         /* indices are int64 (8) or int32 (4) */
    int max_sms;                                       /* multiprocessors taken at most; 0: all */
    uint32_t* seen;                                    /* null, or MARIUS_CUDA_SEEN flags: 1 at the numbers of those it ran on */
} marius_cuda_copy_rows;

typedef struct {
    const float* data; /* (count, dim) */
    int64_t count;
} marius_cuda_part;

/* out[s] = sum of the gradients at positions order[starts[s]] .. order[starts[s + 1] - 1] of the parts laid end to
 * end, added in that order; no position lies outside. The bits are those of csrc/rows/segment_sum.cpp. */
typedef struct {
    const marius_cuda_part* parts; /* host memory, read at once */
    int part_count;
    const int32_t *order, *starts;
    int64_t segments, dim;
    float* out; /* (segments, dim) */
} marius_cuda_segment_sum;

enum { marius_sgd, marius_row_adagrad, marius_adagrad, marius_adam };

/* One step on the records 0 .. count - 1 of a block; the bits are those of csrc/rows/steps.cpp. */
typedef struct {
    int kind;
    float* block;
    int64_t count, stride, dim; /* stride in bytes */
    const float* grads;         /* (count, dim) */
    float lr, eps, beta1, beta2;
} marius_cuda_row_step;

/* Records of `bytes` bytes, record i of the block being record rows[i] of the table; all host memory. */
typedef struct {
    void *table, *block;
    const int64_t* rows;
    int64_t count, table_stride, block_stride, bytes; /* strides in bytes */
    int threads;                                      /* 0: every CPU */
} marius_cuda_host_rows;

typedef struct {
    int version; /* MARIUS_CUDA_VERSION */
    int (*device_count)(int* count, marius_cuda_error* error); /* no driver, no GPU: 0 */
    int (*device_facts)(int device, marius_cuda_facts* facts, marius_cuda_error* error);
    /* Pins host memory, in pieces of whole `boundary`s, all or nothing; *address: where devices see its first byte. */
    int (*pin)(int device, void* base, uint64_t bytes, uint64_t boundary, int threads, void** handle,
               uint64_t* address, int* chunks, marius_cuda_error* error);
    int (*unpin)(void* handle, marius_cuda_error* error); /* the handle is gone, also after an error */
    int (*copy_rows)(int device, void* stream, const marius_cuda_copy_rows* copy, marius_cuda_error* error);
    int (*segment_sum)(int device, void* stream, const marius_cuda_segment_sum* sum, marius_cuda_error* error);
    int (*row_step)(int device, void* stream, const marius_cuda_row_step* step, marius_cuda_error* error);
    int (*copy)(int device, void* stream, void* target, const void* source, uint64_t bytes, marius_cuda_error* error);
    int (*host_gather)(int device, void* stream, const marius_cuda_host_rows* rows, marius_cuda_error* error);
    int (*host_scatter)(int device, void* stream, const marius_cuda_host_rows* rows, marius_cuda_error* error);
} marius_cuda_api;

#ifdef __cplusplus
extern "C"
#endif
const marius_cuda_api* marius_cuda(void);
