/* The CUDA library's interface: a table of functions over plain structs, found by the one exported name `marius_cuda`.
 *
 * Addresses are raw: device memory, pinned host memory under its device address, or (host_gather, host_scatter)
 * host memory. `stream` is a cudaStream_t of the device. No call waits for the device, pin and unpin apart; memory
 * named in a call must live until the stream has come past it. Every function returns 0, or a code: CUDA's own, or
 * -1 for arguments that do not fit; `error` then says in one line what failed. The caller's current device stays. */
#pragma once
#include <stdint.h>

#define MARIUS_CUDA_VERSION 3
#define MARIUS_CUDA_SEEN 1024 /* multiprocessor numbers need not be contiguous; none is as high as this */
#define MARIUS_CUDA_PARTS 8   /* gradients of a segment sum, at most */

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
    const void *source_rows, *target_rows;                /* device memory, or null */
    int64_t count, columns, source_stride, target_stride; /* strides in bytes */
    int source_type, target_type, index_bytes;            /* indices are int64 (8) or int32 (4) */
    int max_sms;                                          /* multiprocessors taken at most; 0: all */
    uint32_t* seen; /* null, or MARIUS_CUDA_SEEN flags: 1 at the numbers of those it ran on */
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

/* One step on the records 0 .. count - 1 of a block; the bits are those of csrc/rows/steps.cpp. */
typedef struct {
    const char* optimizer; /* its name in csrc/rows/formulas.h */
    float* block;
    int64_t count, stride, dim; /* stride in bytes */
    const float* grads;         /* (count, dim) */
    float lr, options[4];       /* in the order in which the optimizer names them */
} marius_cuda_row_step;

/* Records of `bytes` bytes, record i of the block being record rows[i] of the table; all host memory. */
typedef struct {
    void *table, *block;
    const int64_t* rows;
    int64_t count, table_stride, block_stride, bytes; /* strides in bytes */
    int threads;                                      /* 0: every CPU */
} marius_cuda_host_rows;

/* Neighbour sampling, hop after hop, of what csrc/graph/sampler.cpp samples, in the same order. A hop's nodes are the new ones
 * of the hop before. Stages of a hop, in this order; sums of the counts stand between them, and are the caller's:
 *   find   (excluded edges, before the first hop) where each lies in its destination's list
 *   expand (nodes)  what each may draw from, and how many it draws
 *   draw   (nodes)  which ones, where that is not all
 *   take   (edges)  ids and relations of what was drawn
 *   meet   (edges)  each id finds its place in the table; the smallest claim to a place stays there
 *   tell   (edges)  whether an edge's source is new and this its first edge
 *   label  (edges)  local ids of the sources; the nodes that are new, and their rows
 *   settle (edges)  new nodes' places in the table hold their local ids from now on
 * `meet` also fills another table with known nodes: taken as edges, with 0 known. The seeds are a hop that begins with `meet`. */
enum {
    marius_find,
    marius_expand,
    marius_draw,
    marius_take,
    marius_meet,
    marius_tell,
    marius_label,
    marius_settle,
    marius_stages /* how many there are */
};

/* the in-edges of a resident partition's nodes; all null and 0 for the others */
typedef struct {
    const int64_t* indptr;
    const void* sources;
    const uint32_t* rel; /* or null */
    int64_t base_row;    /* of its first node */
} marius_cuda_lists;

typedef struct {
    int64_t begin, end;
} marius_cuda_range;

/* number c of a node's stands at c + shift, where this is the last one with before <= c */
typedef struct {
    int64_t before, shift;
} marius_cuda_shift;

/* every field has 8 bytes; what a stage does not need may be null or 0 */
typedef struct {
    int64_t count;                                    /* of what the stage goes over */
    const marius_cuda_lists* lists;                   /* by partition */
    const marius_cuda_range* resident;                /* ranges of node ids, ascending; none: every node is */
    int64_t resident_count, rows_per_partition, wide; /* wide: sources are uint64, not uint32 */
    const int64_t *excluded_dst, *excluded_src;       /* edges by (destination, source) */
    int64_t excluded_count;
    marius_cuda_shift* removed; /* of each excluded edge; after `find`, the range of its positions */
    uint64_t seed;
    int64_t hop, fanout; /* fanout -1: all */
    int64_t node_count;
    const int64_t* nodes;
    int64_t* counts;             /* drawn */
    marius_cuda_range* seen;     /* in-edges, as many of them from nodes that are not resident */
    int64_t *first, *candidates; /* where its list begins; what it may draw from */
    marius_cuda_range* removals; /* its part of `removed` */
    marius_cuda_shift* shifts;   /* (nodes, resident_count) */
    const int64_t* starts;       /* (nodes + 1): its edges, by number in the hop */
    int64_t* drawn;              /* of each edge, a candidate */
    uint64_t* drawn_set;         /* 2 for each edge, all bits set, where fanout > 32 */
    int64_t* ids;                /* of each edge, its source */
    uint32_t* rel;               /* of each edge; or null */
    uint64_t* keys;              /* the table: ids, or all bits set */
    int32_t* values;             /* their local ids, or the largest number */
    int64_t mask;                /* the table's places, a power of 2 and more than there are nodes, less one */
    int64_t known;               /* nodes before this hop */
    int32_t *slots, *fresh;      /* of each edge */
    const int32_t* rank;         /* fresh edges up to each, itself counted */
    int32_t* labels;             /* of each edge */
    int64_t *new_nodes, *new_rows;
} marius_cuda_neighbours;

typedef struct {
    int version;                                               /* MARIUS_CUDA_VERSION */
    int (*device_count)(int* count, marius_cuda_error* error); /* no driver, no GPU: 0 */
    int (*device_facts)(int device, marius_cuda_facts* facts, marius_cuda_error* error);
    /* Pins host memory, in pieces of whole `boundary`s, all or nothing; *address: where devices see its first byte. */
    int (*pin)(int device, void* base, uint64_t bytes, uint64_t boundary, int threads, void** handle, uint64_t* address,
               int* chunks, marius_cuda_error* error);
    int (*unpin)(void* handle, marius_cuda_error* error); /* the handle is gone, also after an error */
    int (*copy_rows)(int device, void* stream, const marius_cuda_copy_rows* copy, marius_cuda_error* error);
    int (*segment_sum)(int device, void* stream, const marius_cuda_segment_sum* sum, marius_cuda_error* error);
    int (*row_step)(int device, void* stream, const marius_cuda_row_step* step, marius_cuda_error* error);
    int (*copy)(int device, void* stream, void* target, const void* source, uint64_t bytes, marius_cuda_error* error);
    int (*host_gather)(int device, void* stream, const marius_cuda_host_rows* rows, marius_cuda_error* error);
    int (*host_scatter)(int device, void* stream, const marius_cuda_host_rows* rows, marius_cuda_error* error);
    int (*neighbours)(int device, void* stream, int stage, const marius_cuda_neighbours* job, marius_cuda_error* error);
} marius_cuda_api;

/* clang-format off */
#ifdef __cplusplus
extern "C"
#endif
const marius_cuda_api* marius_cuda(void);
