// The stages of neighbour sampling on a GPU: what each thread does with one node, edge or excluded edge. The sample is that of
// csrc/graph/sampler.cpp, numbered in the same order. api.h lists the stages.
//
// Lists may lie in host memory behind a slow link. Only find_excluded, expand and fetch read them. fetch has a thread for each
// edge, so that threads read a whole list in one go. Threads share nothing but the hash table. They change it by atomic
// operations whose outcome does not depend on their order: beside an id stands the smallest number of an edge that leads to it.
#pragma once
#include <cstdint>
#include <type_traits>

#include "cuda/api.h"
#include "cuda/place.h"
#include "graph/draws.h"

namespace marius {

using Neighbours = marius_cuda_neighbours;

// Sets *at to `desired` if it is `expected`. Returns what it was before.
MARIUS_BOTH std::uint64_t exchange_if(std::uint64_t* at, std::uint64_t expected, std::uint64_t desired) {
#if defined(__CUDA_ARCH__)
    return atomicCAS(reinterpret_cast<unsigned long long*>(at), expected, desired);
#else
    __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
#endif
}

// Sets *at to `value` if that is smaller.
MARIUS_BOTH void keep_least(std::int32_t* at, std::int32_t value) {
#if defined(__CUDA_ARCH__)
    atomicMin(at, value);
#else
    std::int32_t before = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (value < before && !__atomic_compare_exchange_n(at, &before, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
#endif
}

MARIUS_BOTH std::uint64_t source_at(const Neighbours& job, const marius_cuda_lists& lists, std::int64_t position) {
    return job.wide ? static_cast<const std::uint64_t*>(lists.sources)[position]
                    : static_cast<const std::uint32_t*>(lists.sources)[position];
}

MARIUS_BOTH const marius_cuda_lists& lists_of(const Neighbours& job, std::int64_t node) {
    return job.lists[node / job.rows_per_partition];
}

// The first position of a list's [begin, end) whose source is >= `least`.
MARIUS_BOTH std::int64_t first_not_below(const Neighbours& job, const marius_cuda_lists& lists, std::int64_t begin,
                                         std::int64_t end, std::uint64_t least) {
    while (begin < end) {
        const std::int64_t middle = begin + (end - begin) / 2;
        if (source_at(job, lists, middle) < least) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

// How many of `values`, which ascend, are below `value`.
MARIUS_BOTH std::int64_t count_below(const std::int64_t* values, std::int64_t count, std::int64_t value) {
    std::int64_t low = 0;
    while (low < count) {
        const std::int64_t middle = low + (count - low) / 2;
        if (values[middle] < value) low = middle + 1;
        else count = middle;
    }
    return low;
}

// The position of candidate `c`.
MARIUS_BOTH std::int64_t shifted(const marius_cuda_shift* shifts, std::int64_t count, std::int64_t c) {
    std::int64_t low = 0;
    while (low < count) {
        const std::int64_t middle = low + (count - low) / 2;
        if (shifts[middle].before <= c) low = middle + 1;
        else count = middle;
    }
    return low ? c + shifts[low - 1].shift : c;
}

// The set of numbers that one node has drawn so far, in the node's part of `drawn_set`.
struct DrawnPlaces {
    std::uint64_t* slots;
    std::uint64_t size;

    MARIUS_BOTH bool insert(std::uint64_t value) {
        for (std::uint64_t at = mix64(value) % size;; at = at + 1 == size ? 0 : at + 1) {
            if (slots[at] == value) return false;
            if (slots[at] == ~std::uint64_t{0}) {
                slots[at] = value;
                return true;
            }
        }
    }
};

template <int stage>
struct Stage;

template <>
struct Stage<marius_find_excluded> {
    static MARIUS_BOTH void run(const Neighbours& job, std::int64_t i) {
        const std::int64_t dst = job.excluded_dst[i], src = job.excluded_src[i];
        const bool again = i > 0 && job.excluded_dst[i - 1] == dst && job.excluded_src[i - 1] == src;
        const marius_cuda_lists& lists = lists_of(job, dst);
        job.removed[i] = {0, 0};
        if (again || !lists.indptr || !lists_of(job, src).indptr) return;
        const std::int64_t* list = lists.indptr + dst % job.rows_per_partition;
        const std::int64_t begin = first_not_below(job, lists, list[0], list[1], src);
        job.removed[i] = {begin, first_not_below(job, lists, begin, list[1], static_cast<std::uint64_t>(src) + 1)};
    }
};

template <>
struct Stage<marius_expand> {
    static MARIUS_BOTH void run(const Neighbours& job, std::int64_t i) {
        const std::int64_t node = job.nodes[i];
        const marius_cuda_lists& lists = lists_of(job, node);
        const std::int64_t* list = lists.indptr + node % job.rows_per_partition;
        const std::int64_t begin = list[0], end = list[1];
        marius_cuda_shift* shifts = job.shifts + i * job.resident_count;
        std::int64_t resident = job.resident_count ? 0 : end - begin;
        for (std::int64_t r = 0, at = begin; r < job.resident_count; ++r) {
            const std::int64_t low = first_not_below(job, lists, at, end, job.resident[r].begin);
            at = first_not_below(job, lists, low, end, job.resident[r].end);
            shifts[r] = {resident, low - resident};
            resident += at - low;
        }
        job.first[i] = begin;
        job.in_edges[i] = {end - begin, end - begin - resident};
        job.candidates[i] = job.excluded_count ? resident - remove(job, i, node, shifts) : resident;
        job.counts[i] = job.fanout >= 0 && job.fanout < job.candidates[i] ? job.fanout : job.candidates[i];
    }

    // Turns the positions of excluded edges into shifts of candidates. Returns how many candidates are excluded.
    static MARIUS_BOTH std::int64_t remove(const Neighbours& job, std::int64_t i, std::int64_t node,
                                           const marius_cuda_shift* shifts) {
        std::int64_t at = count_below(job.excluded_dst, job.excluded_count, node);
        job.removals[i].begin = at;
        std::int64_t before = 0, gone = 0;
        for (std::int64_t r = 0; at < job.excluded_count && job.excluded_dst[at] == node; ++at) {
            const std::int64_t begin = job.removed[at].before, end = job.removed[at].shift;
            if (begin < end) {
                while (r + 1 < job.resident_count && shifts[r + 1].before + shifts[r + 1].shift <= begin) ++r;
                before = begin - (job.resident_count ? shifts[r].shift : job.first[i]) - gone;
                gone += end - begin;
            }
            job.removed[at] = {before, gone};
        }
        job.removals[i].end = at;
        return gone;
    }
};

template <>
struct Stage<marius_draw> {
    static MARIUS_BOTH void run(const Neighbours& job, std::int64_t i) {
        const std::int64_t start = job.starts[i], wanted = job.starts[i + 1] - start;
        if (wanted == job.candidates[i]) return;
        const DrawStream stream(job.seed, job.hop, job.nodes[i]);
        const auto out = reinterpret_cast<std::uint64_t*>(job.drawn + start);
        if (wanted <= static_cast<std::int64_t>(kScanned)) return draw_few(stream, job.candidates[i], wanted, out);
        DrawnPlaces set = {job.drawn_set + 2 * start, static_cast<std::uint64_t>(2 * wanted)};
        draw_many(stream, job.candidates[i], wanted, out, set);
    }
};

template <>
struct Stage<marius_fetch> {
    static MARIUS_BOTH void run(const Neighbours& job, std::int64_t e) {
        const std::int64_t i = count_below(job.starts, job.node_count + 1, e + 1) - 1;
        const bool all = job.starts[i + 1] - job.starts[i] == job.candidates[i];
        std::int64_t candidate = all ? e - job.starts[i] : job.drawn[e];
        if (job.excluded_count)
            candidate = shifted(job.removed + job.removals[i].begin, job.removals[i].end - job.removals[i].begin, candidate);
        const std::int64_t position = job.resident_count
                                          ? shifted(job.shifts + i * job.resident_count, job.resident_count, candidate)
                                          : job.first[i] + candidate;
        const marius_cuda_lists& lists = lists_of(job, job.nodes[i]);
        job.ids[e] = static_cast<std::int64_t>(source_at(job, lists, position));
        if (job.rel) job.rel[e] = lists.rel[position];
    }
};

template <>
struct Stage<marius_insert> {
    static MARIUS_BOTH void run(const Neighbours& job, std::int64_t e) {
        constexpr std::uint64_t empty = ~std::uint64_t{0};
        const auto id = static_cast<std::uint64_t>(job.ids[e]);
        auto slot = static_cast<std::int64_t>(mix64(id)) & job.mask;
        for (;; slot = (slot + 1) & job.mask) {
            const std::uint64_t key = exchange_if(job.keys + slot, empty, id);
            if (key == empty || key == id) break;
        }
        keep_least(job.values + slot, static_cast<std::int32_t>(job.known + e));
        job.slots[e] = static_cast<std::int32_t>(slot);
    }
};

template <>
struct Stage<marius_mark_new> {
    static MARIUS_BOTH void run(const Neighbours& job, std::int64_t e) {
        job.is_new[e] = job.values[job.slots[e]] == job.known + e;
    }
};

template <>
struct Stage<marius_label> {
    static MARIUS_BOTH void run(const Neighbours& job, std::int64_t e) {
        const std::int64_t claim = job.values[job.slots[e]];
        const std::int64_t place = claim < job.known ? claim - job.known : job.rank[claim - job.known] - 1;  // among the new
        job.labels[e] = static_cast<std::int32_t>(job.known + place);
        if (!job.is_new[e]) return;
        const std::int64_t node = job.ids[e];
        job.new_nodes[place] = node;
        job.new_rows[place] = lists_of(job, node).base_row + node % job.rows_per_partition;
    }
};

template <>
struct Stage<marius_keep_labels> {
    static MARIUS_BOTH void run(const Neighbours& job, std::int64_t e) {
        if (job.is_new[e]) job.values[job.slots[e]] = job.labels[e];
    }
};

template <int stage>
MARIUS_BOTH void neighbours(const Neighbours& job, const Place& place) {
    const Group threads(place, 0);
    for (std::int64_t i = threads.index; i < job.count; i += threads.count) Stage<stage>::run(job, i);
}

// Calls `run` with the stage as a std::integral_constant.
template <int stage = 0, class Run>
void with_stage(int number, Run run) {
    if constexpr (stage < marius_stages) {
        if (number == stage) return run(std::integral_constant<int, stage>{});
        with_stage<stage + 1>(number, run);
    }
}

}  // namespace marius
