// Turns the arguments of calls into jobs and grids, for GPU and host alike. Throws std::invalid_argument for arguments that do
// not fit.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "cuda/api.h"
#include "cuda/copy_rows.h"
#include "cuda/neighbours.h"
#include "cuda/row_step.h"
#include "cuda/segment_sum.h"
#include "cuda/softmax_loss.h"

namespace marius {

struct Grid {
    std::int64_t blocks;
    int threads;
};

inline constexpr int copy_threads = 1024;  // one block fills a multiprocessor, so a limit of blocks limits multiprocessors
inline constexpr int compute_threads = 256, compute_blocks = 8;  // blocks: of one multiprocessor
inline constexpr int warp_bits = 5;                              // log2 of the threads in a warp

inline void require(bool holds, const std::string& what) {
    if (!holds) throw std::invalid_argument(what);
}

// log2 of the threads in a group: 4 to 32, at most as many as a row has vectors, rounded up to a power of 2.
constexpr int lane_bits_for(std::int64_t vectors) {
    const auto lanes = std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(vectors, 4, 32)));
    return std::countr_zero(lanes);
}

// The elements of a vector, `size` bytes each: the largest power of 2 that fits `limit` bytes and divides all `sizes`.
template <class... Sizes>
constexpr int vector_elements_for(int limit, int size, Sizes... sizes) {
    const std::uint64_t bits = (static_cast<std::uint64_t>(sizes) | ...);
    int elements = limit / size;
    while (elements > 1 && bits % (static_cast<std::uint64_t>(elements) * size) != 0) elements /= 2;
    return elements;
}

inline std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

inline int float_bytes(int type) {
    require(type >= marius_float32 && type <= marius_bytes, "there is no type " + std::to_string(type));
    return type == marius_bytes ? 1 : type == marius_float32 ? 4 : 2;
}

inline void check_copy(const marius_cuda_copy_rows& a, int source_size, int target_size) {
    const auto number = [](std::int64_t n) { return std::to_string(n); };
    require(a.count >= 0 && a.columns >= 0, number(a.count) + " rows of " + number(a.columns) + " columns");
    require(a.columns <= (std::int64_t{1} << 28), "rows of " + number(a.columns) + " columns, at most 2^28 allowed");
    require(a.count == 0 || a.columns == 0 || (a.source && a.target), "source or target is null");
    require(a.index_bytes == 8 || a.index_bytes == 4, "indices of " + number(a.index_bytes) + " bytes, not 4 or 8");
    require(address_of(a.source_rows) % a.index_bytes == 0 && address_of(a.target_rows) % a.index_bytes == 0,
            "indices are not aligned to their " + number(a.index_bytes) + " bytes");
    require((a.source_type == marius_bytes) == (a.target_type == marius_bytes), "bytes do not convert to floats");
    require(a.max_sms >= 0, "max_sms is " + number(a.max_sms));
    require(a.target_stride >= a.columns * target_size || (a.count <= 1 && !a.target_rows),
            "target rows are " + number(a.target_stride) + " bytes apart, " + number(a.columns * target_size) + " wide");
    if (a.source_type != a.target_type)
        require((address_of(a.source) | a.source_stride) % source_size == 0 &&
                    (address_of(a.target) | a.target_stride) % target_size == 0,
                "floats to convert are not aligned to their size");
}

inline CopyRows copy_job(const marius_cuda_copy_rows& a) {
    const int source_size = float_bytes(a.source_type), target_size = float_bytes(a.target_type);
    check_copy(a, source_size, target_size);
    CopyRows job = {.source = static_cast<const char*>(a.source),
                    .target = static_cast<char*>(a.target),
                    .source_rows = a.source_rows,
                    .target_rows = a.target_rows,
                    .count = a.count,
                    .source_stride = a.source_stride,
                    .target_stride = a.target_stride,
                    .vectors = 0,
                    .shift_mask = 0,
                    .lane_bits = 0,
                    .vector_elements = 1,
                    .source_type = a.source_type,
                    .target_type = a.target_type,
                    .wide_indices = a.index_bytes == 8,
                    .shift_target = a.target_rows && !a.source_rows,
                    .sm_flags = a.sm_flags};
    int shifted_size = 1;  // bytes of a vector on the side that is shifted
    if (a.source_type == a.target_type) {
        job.vector_elements = vector_elements_for(16, 1, address_of(a.source), address_of(a.target), a.source_stride,
                                                  a.target_stride, a.columns * source_size);
        shifted_size = job.vector_elements;
        job.vectors = static_cast<std::int32_t>(a.columns * source_size / job.vector_elements);
    } else {
        job.vector_elements = std::min({vector_elements_for(4, 1, a.columns),
                                        vector_elements_for(16, source_size, address_of(a.source), a.source_stride),
                                        vector_elements_for(16, target_size, address_of(a.target), a.target_stride)});
        shifted_size = job.vector_elements * (job.shift_target ? target_size : source_size);
        job.vectors = static_cast<std::int32_t>(a.columns / job.vector_elements);
    }
    job.lane_bits = lane_bits_for(job.vectors);
    if (job.vectors > 1 << job.lane_bits) job.shift_mask = std::min(128 / shifted_size, 1 << job.lane_bits) - 1;
    return job;
}

constexpr Grid grid_of(std::int64_t groups, int lane_bits, int threads, std::int64_t most_blocks) {
    const std::int64_t groups_a_block = threads >> lane_bits;
    return {std::clamp<std::int64_t>((groups + groups_a_block - 1) / groups_a_block, 1, std::max<std::int64_t>(most_blocks, 1)),
            threads};
}

inline Grid copy_grid(const CopyRows& job, int multiprocessors, int max_sms) {
    return grid_of(job.count, job.lane_bits, copy_threads, max_sms > 0 ? std::min(max_sms, multiprocessors) : multiprocessors);
}

inline SegmentSum segment_sum_job(const marius_cuda_segment_sum& a) {
    require(a.segments >= 0 && a.dim >= 0, std::to_string(a.segments) + " segments of " + std::to_string(a.dim) + " columns");
    require(a.segments <= std::numeric_limits<std::int32_t>::max(),
            std::to_string(a.segments) + " segments, at most 2^31 - 1 allowed");
    require(a.part_count >= 0 && a.part_count <= MARIUS_CUDA_PARTS,
            std::to_string(a.part_count) + " parts, at most " + std::to_string(MARIUS_CUDA_PARTS) + " allowed");
    SegmentSum job = {.parts = {},
                      .order = a.order,
                      .starts = a.starts,
                      .out = a.out,
                      .segments = a.segments,
                      .dim = a.dim,
                      .vectors = 0,
                      .part_count = a.part_count,
                      .lane_bits = 0,
                      .vector_elements = 1};
    std::uint64_t addresses = address_of(a.out);
    for (int p = 0; p < a.part_count; ++p) {
        require(a.parts[p].count >= 0, "a part of " + std::to_string(a.parts[p].count) + " gradients");
        job.parts[p] = a.parts[p];
        addresses |= address_of(a.parts[p].data);
    }
    require(addresses % sizeof(float) == 0, "gradients or sums are not aligned to floats");
    job.vector_elements = vector_elements_for(16, 4, addresses, a.dim * 4);
    if (job.vector_elements == 2) job.vector_elements = 1;
    job.vectors = a.dim / job.vector_elements;
    job.lane_bits = lane_bits_for(job.vectors);
    return job;
}

inline RowStepJob row_step_job(const marius_cuda_row_step& a) {
    require(a.count >= 0 && a.dim >= 0, std::to_string(a.count) + " records of " + std::to_string(a.dim) + " columns");
    formulas::check_optimizer(a.optimizer);
    std::int64_t needed = a.dim;
    formulas::with_optimizer(a.optimizer, [&](auto optimizer) { needed += formulas::state_columns<decltype(optimizer)>(a.dim); });
    require(a.stride % 4 == 0 && a.stride >= 4 * needed, "records are " + std::to_string(a.stride) +
                                                             " bytes apart; a multiple of 4, at least " +
                                                             std::to_string(4 * needed) + ", is needed");
    require((address_of(a.block) | address_of(a.grads)) % sizeof(float) == 0, "records or gradients are not aligned to floats");
    RowStepJob job = {.block = a.block,
                      .grads = a.grads,
                      .count = a.count,
                      .width = a.stride / 4,
                      .dim = a.dim,
                      .vectors = 0,
                      .rates = {a.lr, {}},
                      .optimizer = a.optimizer,
                      .lane_bits = 0,
                      .vector_elements = 1};
    std::copy(std::begin(a.options), std::end(a.options), job.rates.options);
    job.vector_elements = vector_elements_for(16, 4, address_of(a.block), address_of(a.grads), a.stride, a.dim * 4);
    if (job.vector_elements == 2) job.vector_elements = 1;
    job.vectors = a.dim / job.vector_elements;
    job.lane_bits = lane_bits_for(job.vectors);
    return job;
}

inline SoftmaxLoss softmax_loss_job(const marius_cuda_softmax_loss& a) {
    require(a.rows >= 0 && a.columns >= 0, std::to_string(a.rows) + " rows of " + std::to_string(a.columns) + " columns");
    require(a.rows == 0 || (a.positive && a.losses && (a.negatives || a.columns == 0)), "scores or losses are null");
    require((address_of(a.positive) | address_of(a.negatives) | address_of(a.losses)) % sizeof(float) == 0,
            "scores or losses are not aligned to floats");
    SoftmaxLoss job = {.positive = a.positive,
                       .negatives = a.negatives,
                       .losses = a.losses,
                       .rows = a.rows,
                       .columns = a.columns,
                       .vectors = 0,
                       .vector_elements = vector_elements_for(16, 4, address_of(a.negatives), a.columns * 4)};
    if (job.vector_elements == 2) job.vector_elements = 1;
    job.vectors = a.columns / job.vector_elements;
    return job;
}

inline void check_neighbours(int stage, const marius_cuda_neighbours& a) {
    const auto number = [](std::int64_t n) { return std::to_string(n); };
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    require(stage >= 0 && stage < marius_stages, "there is no stage " + number(stage));
    require(a.count >= 0 && a.known >= 0 && a.count <= most - a.known,
            number(a.count) + " with " + number(a.known) + " nodes known, less than 2^31 are allowed");
    require(a.rows_per_partition > 0, "partitions of " + number(a.rows_per_partition) + " rows");
    require(a.mask >= 0 && a.mask <= most && std::has_single_bit(static_cast<std::uint64_t>(a.mask) + 1),
            "a table of " + number(a.mask + 1) + " places, a power of 2 up to 2^31 is needed");
}

// A grid for `groups` groups of 2^lane_bits threads, with no more blocks than a GPU runs at once.
constexpr Grid compute_grid(std::int64_t groups, int lane_bits, int multiprocessors) {
    return grid_of(groups, lane_bits, compute_threads, std::int64_t{multiprocessors} * compute_blocks);
}

}  // namespace marius
