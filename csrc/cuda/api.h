/* The CUDA library's interface: a table of functions over plain structs. `marius_cuda`, the only exported name, returns it.
 *
 * Addresses are raw: device memory, pinned host memory under its device address, or (host_gather, host_scatter)
 * host memory. `stream` is a cudaStream_t of the device. No call waits for the device, but for pin and unpin. Memory
 * named in a call must live until the stream has done the call's work. Every function returns 0, or an error code: CUDA's
 * own, or -1 for arguments that do not fit. `error` then says in one line what failed. The current device does not change. */
#pragma once
#include <stdint.h>

#define MARIUS_CUDA_VERSION 4
#define MARIUS_CUDA_SM_FLAGS 1024 /* more than any multiprocessor's number; the numbers may have gaps */
#define MARIUS_CUDA_PARTS 8       /* arrays of gradients in a segment sum, at most */

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

enum { marius_float32, marius_float16, marius_bfloat16, marius_bytes }; /* bytes: columns of one byte, not converted */

/* Copies rows: target[target_rows[i]] = source[source_rows[i]] for i < count. Where a list of rows is null, row i is meant.
 * A row of the target must not repeat. Floats of different types are converted, rounded to the nearest even. */
typedef struct {
    const void* source;
    void* target;
    const void *source_rows, *target_rows;                /* device memory, or null */
    int64_t count, columns, source_stride, target_stride; /* strides in bytes */
    int source_type, target_type, index_bytes;            /* indices are int64 (8) or int32 (4) */
    int max_sms;                                          /* multiprocessors taken at most; 0: all */
    uint32_t* sm_flags; /* null, or MARIUS_CUDA_SM_FLAGS flags: set to 1 for each multiprocessor that it ran on */
} marius_cuda_copy_rows;

typedef struct {
    const float* data; /* (count, dim) */
    int64_t count;
} marius_cuda_part;

/* Sums gradients: out[s] = the sum of those at positions order[starts[s]] .. order[starts[s + 1] - 1], added in that order.
 * Positions count through all parts, which lie end to end; none may lie outside. The bits are those of
 * csrc/rows/segment_sum.cpp. */
typedef struct {
    const marius_cuda_part* parts; /* host memory, read at once */
    int part_count;
    const int32_t *order, *starts;
    int64_t segments, dim;
    float* out; /* (segments, dim) */
} marius_cuda_segment_sum;

/* One optimizer step on the records 0 .. count - 1 of a block. The bits are those of csrc/rows/steps.cpp. */
typedef struct {
    const char* optimizer; /* its name in csrc/rows/formulas.h */
    float* block;
    int64_t count, stride, dim; /* stride in bytes */
    const float* grads;         /* (count, dim) */
    float lr, options[4];       /* in the order in which the optimizer names them */
} marius_cuda_row_step;

/* The softmax loss: losses[r] = log(exp(positive[r]) + sum of exp(negatives[r])) - positive[r], of finite positives. Scores are
 * overwritten with the gradient of the losses' sum, which is 0 for a negative of -inf. A NaN makes its row's loss NaN. The same
 * bits each time, but not the CPU's. */
typedef struct {
    float *positive, *negatives; /* (rows), (rows, columns) */
    float* losses;               /* (rows) */
    int64_t rows, columns;
} marius_cuda_softmax_loss;

/* Copies records of `bytes` bytes in host memory. Record i of the block is record rows[i] of the table. */
typedef struct {
    void *table, *block;
    const int64_t* rows;
    int64_t count, table_stride, block_stride, bytes; /* strides in bytes */
    int threads;                                      /* 0: every CPU */
} marius_cuda_host_rows;

/* Samples neighbours, hop after hop: the same sample as csrc/graph/sampler.cpp, in the same order. The nodes of a hop are those
 * that the hop before has found. A hop has these stages, in this order; the caller adds up counts between them:
 *   find_excluded (excluded edges, before the first hop) finds where each stands in its destination's list
 *   expand        (nodes) finds what each may draw from, and how many neighbours it draws
 *   draw          (nodes) draws them, where a node does not take all
 *   fetch         (edges) reads the source and the relation of each drawn edge
 *   insert        (edges) puts the source into a hash table, and the edge's number beside it if it is the smallest so far
 *   mark_new      (edges) marks the edges that are the first to lead to a new node
 *   label         (edges) gives each edge its source's local id; lists the new nodes and their rows
 *   keep_labels   (edges) stores the new nodes' local ids in the hash table
 * The seeds are a hop that begins with `insert`. To fill a larger hash table, `insert` takes the known nodes as edges, with 0
 * nodes known. */
enum {
    marius_find_excluded,
    marius_expand,
    marius_draw,
    marius_fetch,
    marius_insert,
    marius_mark_new,
    marius_label,
    marius_keep_labels,
    marius_stages /* how many there are */
};

/* The in-edge lists of a resident partition's nodes; null and 0 for other partitions. */
typedef struct {
    const int64_t* indptr;
    const void* sources;
    const uint32_t* rel; /* or null */
    int64_t base_row;    /* of its first node */
} marius_cuda_lists;

typedef struct {
    int64_t begin, end;
} marius_cuda_range;

/* Where a node's candidates stand: candidate c is at c + shift, by the last entry with before <= c. */
typedef struct {
    int64_t before, shift;
} marius_cuda_shift;

/* Every field has 8 bytes. A field that a stage does not need may be null or 0. */
typedef struct {
    int64_t count;                                    /* of the edges or nodes that the stage works on */
    const marius_cuda_lists* lists;                   /* by partition */
    const marius_cuda_range* resident;                /* ranges of node ids, ascending; none: every node is */
    int64_t resident_count, rows_per_partition, wide; /* wide: sources are uint64, not uint32 */
    const int64_t *excluded_dst, *excluded_src;       /* edges by (destination, source) */
    int64_t excluded_count;
    marius_cuda_shift* removed; /* of each excluded edge: between find_excluded and expand, its positions */
    uint64_t seed;
    int64_t hop, fanout; /* fanout -1: all */
    int64_t node_count;
    const int64_t* nodes;
    int64_t* counts;             /* of drawn neighbours */
    marius_cuda_range* in_edges; /* of each node: how many (begin), and how many from nodes that are not resident (end) */
    int64_t *first, *candidates; /* where a node's list begins; how many it may draw from */
    marius_cuda_range* removals; /* each node's part of `removed` */
    marius_cuda_shift* shifts;   /* (nodes, resident_count) */
    const int64_t* starts;       /* (nodes + 1): the number of each node's first edge in the hop */
    int64_t* drawn;              /* of each edge, the number of a candidate */
    uint64_t* drawn_set;         /* 2 for each edge, all bits set, where fanout > 32 */
    int64_t* ids;                /* of each edge, its source */
    uint32_t* rel;               /* of each edge; or null */
    uint64_t* keys;              /* the hash table: ids; free places have all bits set */
    int32_t* values;             /* local ids, or the smallest number of an edge; at first the largest int32 */
    int64_t mask;                /* the hash table's places, less 1: places are a power of 2, and more than there are nodes */
    int64_t known;               /* nodes before this hop */
    int32_t *slots, *is_new;     /* of each edge: its source's place in the hash table; 1 if it is the first to a new node */
    const int32_t* rank;         /* how many edges are new up to each, itself counted */
    int32_t* labels;             /* of each edge: its source's local id */
    int64_t *new_nodes, *new_rows;
} marius_cuda_neighbours;

typedef struct {
    int version;                                               /* MARIUS_CUDA_VERSION */
    int (*device_count)(int* count, marius_cuda_error* error); /* no driver, no GPU: 0 */
    int (*device_facts)(int device, marius_cuda_facts* facts, marius_cuda_error* error);
    /* Pins host memory, in parts of whole `boundary`s; all of it or none. *address: where devices see its first byte. */
    int (*pin)(int device, void* base, uint64_t bytes, uint64_t boundary, int threads, void** handle, uint64_t* address,
               int* chunks, marius_cuda_error* error);
    int (*unpin)(void* handle, marius_cuda_error* error); /* the handle is invalid afterwards, even after an error */
    int (*copy_rows)(int device, void* stream, const marius_cuda_copy_rows* copy, marius_cuda_error* error);
    int (*segment_sum)(int device, void* stream, const marius_cuda_segment_sum* sum, marius_cuda_error* error);
    int (*row_step)(int device, void* stream, const marius_cuda_row_step* step, marius_cuda_error* error);
    int (*copy)(int device, void* stream, void* target, const void* source, uint64_t bytes, marius_cuda_error* error);
    int (*host_gather)(int device, void* stream, const marius_cuda_host_rows* rows, marius_cuda_error* error);
    int (*host_scatter)(int device, void* stream, const marius_cuda_host_rows* rows, marius_cuda_error* error);
    int (*neighbours)(int device, void* stream, int stage, const marius_cuda_neighbours* job, marius_cuda_error* error);
    int (*softmax_loss)(int device, void* stream, const marius_cuda_softmax_loss* loss, marius_cuda_error* error);
} marius_cuda_api;

/* clang-format off */
#ifdef __cplusplus
extern "C"
#endif
const marius_cuda_api* marius_cuda(void);
