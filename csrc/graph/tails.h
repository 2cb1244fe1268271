// What versions of a dataset need: in-edge lists merged with those of later edges, and stored edges that join certain nodes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "graph/in_lists.h"

namespace marius {

// In-edge lists: that of node i is [indptr[i], indptr[i + 1]) of the arrays, with ascending sources.
template <class Id>
struct InLists {
    const int64_t* indptr;  // (nodes + 1)
    size_t nodes;
    const Id* sources;
    const uint32_t* rels;  // or null
    const float* weights;  // or null
    size_t edges;
};

// Whether `lists` begin at 0, ascend and end with the edges.
template <class Id>
bool sound(const InLists<Id>& lists) {
    if (lists.indptr[0] != 0 || lists.indptr[lists.nodes] != static_cast<int64_t>(lists.edges)) return false;
    return std::is_sorted(lists.indptr, lists.indptr + lists.nodes + 1);
}

// Merges the lists `before` with `later` ones into the arrays `sources`, `rels`, `weights` of all their edges and `indptr` of the
// nodes of `later`, which are as many or more. Of equal sources those `before` come first. The arrays `before` may be the last
// part of the ones that are written: what is read lies never behind what is written. std::invalid_argument for other lists.
template <class Id>
void merge_in_edges(const InLists<Id>& before, const InLists<Id>& later, int64_t* indptr, Id* sources, uint32_t* rels,
                    float* weights) {
    if (before.nodes > later.nodes || !sound(before) || !sound(later))
        throw std::invalid_argument("in-edge lists: no lists of these edges");
    size_t at = 0;
    const auto take = [&](const InLists<Id>& from, int64_t e) {
        sources[at] = from.sources[e];
        if (rels) rels[at] = from.rels[e];
        if (weights) weights[at] = from.weights[e];
        ++at;
    };
    for (size_t node = 0; node < later.nodes; ++node) {
        indptr[node] = static_cast<int64_t>(at);
        int64_t a = 0, a_end = 0, b = later.indptr[node];
        const int64_t b_end = later.indptr[node + 1];
        if (node < before.nodes) a = before.indptr[node], a_end = before.indptr[node + 1];
        while (a < a_end && b < b_end) {
            if (later.sources[b] < before.sources[a]) take(later, b++);
            else take(before, a++);
        }
        while (a < a_end) take(before, a++);
        while (b < b_end) take(later, b++);
    }
    indptr[later.nodes] = static_cast<int64_t>(at);
}

// The edges whose ends are among those `sought`: ascending numbers bucket * rows^2 + destination * rows + source, of offsets
// inside partitions. Edges of a bucket are in the order of these. Returns their places. `rows`^2 * partitions^2 is below 2^64.
inline std::vector<int64_t> edges_with_ends(const uint32_t* src, const uint32_t* dst, size_t count, const BucketRuns& runs,
                                            const uint64_t* sought, size_t numbers) {
    std::vector<int64_t> found;
    const uint64_t* const stop = sought + numbers;
    const uint64_t square = runs.rows * runs.rows;
    runs.each(count, [&](uint64_t i, uint64_t j, size_t begin, size_t end) {
        const uint64_t first = (i * runs.partitions + j) * square;
        const auto number = [&](size_t e) { return first + dst[e] * runs.rows + src[e]; };
        size_t at = begin;
        for (const uint64_t* wanted = std::lower_bound(sought, stop, first); wanted < stop && at < end; ++wanted) {
            if (*wanted - first >= square) break;
            size_t step = 1, low = at;  // the first edge that is not before is at `low` or later; steps double until it is passed
            while (low + step <= end && number(low + step - 1) < *wanted) low += step, step *= 2;
            size_t high = std::min(low + step, end);
            while (low < high) {
                const size_t middle = low + (high - low) / 2;
                if (number(middle) < *wanted) low = middle + 1;
                else high = middle;
            }
            for (at = low; at < end && number(at) == *wanted; ++at) found.push_back(static_cast<int64_t>(at));
        }
    });
    return found;
}

}  // namespace marius
