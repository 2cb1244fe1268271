#include "graph/padded.h"

#include <limits>
#include <stdexcept>
#include <vector>

namespace marius {
namespace {

void check(const SampleView& sample, const int64_t* more_nodes, const int64_t* more_edges) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    int64_t nodes = 0, edges = 0;
    for (int64_t h = 0; h <= sample.hops; ++h) {
        if (more_nodes[h] < 0 || (h < sample.hops && more_edges[h] < 0))
            throw std::invalid_argument("padded sample: a number of nodes or edges is below 0");
        if (h < sample.hops && more_edges[h] > 0 && more_nodes[h] == 0)
            throw std::invalid_argument("padded sample: there are edges, but no nodes that could have them");
        nodes += sample.hop_nodes[h] + more_nodes[h];
        edges += h < sample.hops ? sample.hop_edges[h] + more_edges[h] : 0;
        if (nodes > most || edges > most) throw std::invalid_argument("padded sample: more than 2147483647 nodes or edges");
    }
    if (nodes > 0 && sample.hop_nodes[0] == 0) throw std::invalid_argument("padded sample: there is no seed");
}

// The local ids of a padded sample: those of hop h are moved by the nodes that were put behind all hops before.
class Moved {
public:
    Moved(const SampleView& sample, const int64_t* more_nodes) : begins_(sample.hops), by_(sample.hops) {
        int64_t begin = 0;
        for (int64_t h = 0; h < sample.hops; ++h) {
            begin += sample.hop_nodes[h];
            begins_[h] = static_cast<int32_t>(begin);
            by_[h] = static_cast<int32_t>(more_nodes[h]);
        }
    }

    int32_t operator()(int32_t id) const {
        int32_t moved = id;
        for (size_t h = 0; h < begins_.size(); ++h) moved += id >= begins_[h] ? by_[h] : 0;
        return moved;
    }

private:
    std::vector<int32_t> begins_, by_;
};

}  // namespace

PaddedSample padded(const SampleView& sample, const int64_t* more_nodes, const int64_t* more_edges) {
    check(sample, more_nodes, more_edges);
    const Moved moved(sample, more_nodes);
    PaddedSample out;
    out.indptr.push(0);
    int64_t node = 0, edge = 0;  // of the sample
    for (int64_t h = 0; h <= sample.hops; ++h) {
        const int64_t count = sample.hop_nodes[h], more = more_nodes[h];
        const auto first_added = static_cast<int64_t>(out.nodes.size()) + count;
        out.nodes.append(sample.nodes + node, count);
        out.rows.append(sample.rows + node, count);
        for (int64_t i = 0; i < more; ++i) {
            out.nodes.push(sample.nodes[0]);
            out.rows.push(sample.rows[0]);
        }
        if (h < sample.hops) {
            const int64_t edges = sample.hop_edges[h];
            const auto before = static_cast<int64_t>(out.indices.size());
            for (int64_t i = 1; i <= count; ++i) out.indptr.push(sample.indptr[node + i] - edge + before);
            out.indices.extend(edges);
            int32_t* indices = out.indices.data() + before;
            for (int64_t e = 0; e < edges; ++e) indices[e] = moved(sample.indices[edge + e]);
            if (sample.rel) out.rel.append(sample.rel + edge, edges);
            for (int64_t i = 0; i < more; ++i) {
                const int64_t own = more_edges[h] / more + (i < more_edges[h] % more);
                for (int64_t e = 0; e < own; ++e) out.indices.push(static_cast<int32_t>(first_added + i));
                for (int64_t e = 0; sample.rel && e < own; ++e) out.rel.push(0);
                out.indptr.push(static_cast<int64_t>(out.indices.size()));
            }
            edge += edges;
        }
        node += count;
    }
    return out;
}

}  // namespace marius
