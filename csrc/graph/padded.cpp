#include "graph/padded.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace marius {
namespace {

struct Sizes {
    int64_t nodes, expanded, edges;  // expanded: nodes of all hops but the last
};

Sizes checked(const SampleView& sample, const int64_t* more_nodes, const int64_t* more_edges) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    int64_t nodes = 0, edges = 0, expanded = 0;
    for (int64_t h = 0; h <= sample.hops; ++h) {
        if (more_nodes[h] < 0 || (h < sample.hops && more_edges[h] < 0))
            throw std::invalid_argument("padded sample: a number of nodes or edges is below 0");
        if (h < sample.hops && more_edges[h] > 0 && more_nodes[h] == 0)
            throw std::invalid_argument("padded sample: there are edges, but no nodes that could have them");
        expanded = nodes;
        nodes += sample.hop_nodes[h] + more_nodes[h];
        edges += h < sample.hops ? sample.hop_edges[h] + more_edges[h] : 0;
        if (nodes > most || edges > most) throw std::invalid_argument("padded sample: more than 2147483647 nodes or edges");
    }
    if (nodes > 0 && sample.hop_nodes[0] == 0) throw std::invalid_argument("padded sample: there is no seed");
    return {nodes, expanded, edges};
}

// Moves local ids: those of hop h by the nodes that were put behind all hops before. A block of ids at a time, so that it stays in
// the first cache while it is compared with one hop after the other.
void move_ids(const SampleView& sample, const int64_t* more_nodes, const int32_t* ids, int64_t count, int32_t* out) {
    constexpr int64_t block = 2048;
    for (int64_t start = 0; start < count; start += block) {
        const int64_t end = std::min(count, start + block);
        std::copy(ids + start, ids + end, out + start);
        int32_t begin = 0;
        for (int64_t h = 0; h < sample.hops; ++h) {
            begin += sample.hop_nodes[h];
            const auto by = static_cast<int32_t>(more_nodes[h]);
            for (int64_t i = start; i < end; ++i) out[i] += ids[i] >= begin ? by : 0;
        }
    }
}

template <class T>
T* filled(T* out, const T* values, int64_t count, int64_t more, T value) {
    std::copy(values, values + count, out);
    std::fill(out + count, out + count + more, value);
    return out + count + more;
}

}  // namespace

PaddedSample padded(const SampleView& sample, const int64_t* more_nodes, const int64_t* more_edges) {
    const Sizes sizes = checked(sample, more_nodes, more_edges);
    PaddedSample out;
    out.nodes.extend(sizes.nodes);
    out.rows.extend(sizes.nodes);
    out.indptr.extend(sizes.expanded + 1);
    out.indices.extend(sizes.edges);
    if (sample.rel) out.rel.extend(sizes.edges);
    int64_t *nodes = out.nodes.data(), *rows = out.rows.data(), *indptr = out.indptr.data();
    int32_t* indices = out.indices.data();
    uint32_t* rel = out.rel.data();
    int64_t node = 0, edge = 0;  // of the sample
    *indptr++ = 0;
    for (int64_t h = 0; h <= sample.hops; ++h) {
        const int64_t count = sample.hop_nodes[h], more = more_nodes[h];
        const auto added = static_cast<int32_t>(nodes - out.nodes.data() + count);
        nodes = filled(nodes, sample.nodes + node, count, more, more ? sample.nodes[0] : 0);
        rows = filled(rows, sample.rows + node, count, more, more ? sample.rows[0] : 0);
        if (h < sample.hops) {
            const int64_t drawn = sample.hop_edges[h], moved_by = indices - out.indices.data() - edge;
            for (int64_t i = 1; i <= count; ++i) *indptr++ = sample.indptr[node + i] + moved_by;
            move_ids(sample, more_nodes, sample.indices + edge, drawn, indices);
            indices += drawn;
            if (sample.rel) rel = filled(rel, sample.rel + edge, drawn, more_edges[h], uint32_t{0});
            for (int64_t i = 0; i < more; ++i) {
                const int64_t own = more_edges[h] / more + (i < more_edges[h] % more);
                indices = std::fill_n(indices, own, static_cast<int32_t>(added + i));
                *indptr++ = indices - out.indices.data();
            }
            edge += drawn;
        }
        node += count;
    }
    return out;
}

}  // namespace marius
