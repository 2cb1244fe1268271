// Copies rows between two tables. One of them is often in host memory, behind a slow link.
//
// A group of threads copies four rows at a time, so that each thread has four loads under way. In every instruction a group
// touches neighbouring vectors. Where a row takes several instructions, a circular shift lets them begin at multiples of 128
// bytes of the table, as requests over the link do (Min et al., PyTorch-Direct, arXiv:2101.07956).
#pragma once
#include <cstdint>
#include <type_traits>

#include "cuda/api.h"
#include "cuda/convert.h"
#include "cuda/memory.h"
#include "cuda/place.h"

namespace marius {

struct CopyRows {
    const char* source;
    char* target;
    const void *source_rows, *target_rows;
    std::int64_t count, source_stride, target_stride;
    std::int32_t vectors;     // of one row
    std::int32_t shift_mask;  // vectors in 128 bytes of the shifted side, or threads in a group if fewer, less 1
    int lane_bits, vector_elements;
    int source_type, target_type;
    bool wide_indices, shift_target;  // indices are int64; the shift follows the target's addresses, not the source's
    std::uint32_t* sm_flags;
};

MARIUS_BOTH std::int64_t row_of(const void* rows, bool wide, std::int64_t i) {
    if (!rows) return i;
    return wide ? static_cast<const std::int64_t*>(rows)[i] : static_cast<const std::int32_t*>(rows)[i];
}

// Converts a vector of n elements to another type of n elements.
template <class Target, class Source>
MARIUS_BOTH Target converted(const Source& from) {
    if constexpr (std::is_same_v<Source, Target>) {
        return from;
    } else {
        Target to;
#pragma unroll
        for (int e = 0; e < Source::elements; ++e) put_float(to.at[e], to_float(from.at[e]));
        return to;
    }
}

template <class Source, class Target, class Memory>  // Source, Target: Vector
MARIUS_BOTH void copy_rows(const CopyRows& job, const Place& place, Memory& memory) {
    constexpr int rows = 4;
    const Group group(place, job.lane_bits);
    const std::int32_t slots = (job.vectors + group.lanes - 1) >> job.lane_bits << job.lane_bits;
    for (std::int64_t first = group.index; first < job.count; first += rows * group.count) {
        const char* from[rows];
        char* to[rows];
        std::int32_t shift[rows];
        int live = 1;  // how many of the four rows exist: the last group may have fewer
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const bool there = first + r * group.count < job.count;
            const std::int64_t i = there ? first + r * group.count : first;
            live = there ? r + 1 : live;
            from[r] = job.source + row_of(job.source_rows, job.wide_indices, i) * job.source_stride;
            to[r] = job.target + row_of(job.target_rows, job.wide_indices, i) * job.target_stride;
            const auto at = job.shift_target ? reinterpret_cast<std::uintptr_t>(to[r]) / sizeof(Target)
                                             : reinterpret_cast<std::uintptr_t>(from[r]) / sizeof(Source);
            shift[r] = static_cast<std::int32_t>(at) & job.shift_mask;
        }
#pragma unroll 1
        for (std::int32_t slot = group.lane; slot < slots; slot += group.lanes) {
            Source values[rows];
            const auto vector = [&](int r) { return slot < shift[r] ? slot - shift[r] + slots : slot - shift[r]; };
#pragma unroll
            for (int r = 0; r < rows; ++r)
                if (r < live && vector(r) < job.vectors)
                    values[r] = memory.template load<Source>(from[r] + vector(r) * static_cast<int>(sizeof(Source)));
#pragma unroll
            for (int r = 0; r < rows; ++r)
                if (r < live && vector(r) < job.vectors)
                    memory.store(to[r] + vector(r) * static_cast<int>(sizeof(Target)), converted<Target>(values[r]));
        }
    }
}

// Calls run(Source, Target) with the vectors that fit a job: one pair for each width where nothing is converted.
template <class Run>
void with_vectors(const CopyRows& job, Run run) {
    const auto as_it_is = [&](auto vector) { run(vector, vector); };
    const auto of_types = [&]<class From, class To>(From, To) {
        if (job.vector_elements == 4) run(Vector<From, 4>{}, Vector<To, 4>{});
        else if (job.vector_elements == 2) run(Vector<From, 2>{}, Vector<To, 2>{});
        else run(Vector<From, 1>{}, Vector<To, 1>{});
    };
    const int types = job.source_type << 4 | job.target_type;
    if (types == (marius_float32 << 4 | marius_float16)) of_types(float{}, Float16{});
    else if (types == (marius_float32 << 4 | marius_bfloat16)) of_types(float{}, BFloat16{});
    else if (types == (marius_float16 << 4 | marius_float32)) of_types(Float16{}, float{});
    else if (types == (marius_float16 << 4 | marius_bfloat16)) of_types(Float16{}, BFloat16{});
    else if (types == (marius_bfloat16 << 4 | marius_float32)) of_types(BFloat16{}, float{});
    else if (types == (marius_bfloat16 << 4 | marius_float16)) of_types(BFloat16{}, Float16{});
    else if (job.vector_elements == 16) as_it_is(Vector<std::uint32_t, 4>{});
    else if (job.vector_elements == 8) as_it_is(Vector<std::uint32_t, 2>{});
    else if (job.vector_elements == 4) as_it_is(Vector<std::uint32_t, 1>{});
    else if (job.vector_elements == 2) as_it_is(Vector<std::uint16_t, 1>{});
    else as_it_is(Vector<std::uint8_t, 1>{});
}

}  // namespace marius
