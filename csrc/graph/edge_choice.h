// Draws a node's in-edges where relations have fanouts of their own, or where edges have weights. Every edge has a random key,
// and the edges with the smallest keys are drawn. It takes one pass over the list, and memory for what is drawn.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "graph/draws.h"
#include "graph/residency.h"

namespace marius {

// How many in-edges a node draws at a hop: `all` in total, or so many of each relation; -1: every one.
struct Fanout {
    Fanout(int64_t number) : all(number) {}
    Fanout(const int64_t* numbers, size_t count) : of_relation(numbers), relations(count) {}

    int64_t of(uint32_t relation) const {  // std::invalid_argument for a relation that has no fanout
        if (!of_relation) return all;
        if (relation >= relations)
            throw std::invalid_argument("relation " + std::to_string(relation) + ": there are fanouts for " +
                                        std::to_string(relations));
        return of_relation[relation];
    }

    int64_t all = 0;
    const int64_t* of_relation = nullptr;
    size_t relations = 0;
};

// The key of edge number `place` of a list. Without weights, all keys are equally likely to be among the smallest. With weights,
// the key is a waiting time of rate w > 0: edge x ends first with probability w_x / (sum of w), and the rest go on as if they
// began then, because such times have no memory. (Source: Efraimidis and Spirakis, Weighted random sampling with a reservoir,
// 2006.)
inline double edge_key(const DrawStream& stream, uint64_t place) { return static_cast<double>(stream.at(place) >> 11); }

inline double in_unit_interval(const DrawStream& stream, uint64_t place) {  // neither 0 nor 1
    return (static_cast<double>(stream.at(place) >> 12) + 0.5) * 0x1p-52;
}
inline double edge_key(const DrawStream& stream, uint64_t place, double weight) {
    return -std::log(in_unit_interval(stream, place)) / weight;
}

// Chooses edges, in memory that it keeps from call to call. One for each thread.
class EdgeChoice {
public:
    // Appends to `chosen`, ascending, the positions that are drawn of the `candidates` of the list that begins at `first`.
    // `rel` where the fanout is by relation, `weights` where they count (finite; an edge of weight 0 is drawn by -1 alone), else
    // null. std::invalid_argument for a relation that has no fanout.
    void choose(const DrawStream& stream, const Fanout& fanout, const uint32_t* rel, const float* weights, int64_t first,
                const Stretches& candidates, std::vector<int64_t>& chosen) {
        for (const uint32_t group : touched_) smallest_[group].clear();
        touched_.clear();
        const size_t before = chosen.size(), relations = rel ? fanout.relations : 1;
        if (smallest_.size() < relations) smallest_.resize(relations);
        for (size_t i = 0; i < candidates.size(); i += 2)
            for (int64_t at = candidates[i]; at < candidates[i + 1]; ++at) {
                const uint32_t group = rel ? rel[at] : 0;
                const int64_t wanted = fanout.of(group);
                if (wanted < 0) chosen.push_back(at);
                else if (wanted > 0 && !weights) offer(group, wanted, {edge_key(stream, at - first), at});
                else if (wanted > 0 && weights[at] > 0 && may_be_drawn(stream, at - first, group, wanted, weights[at]))
                    offer(group, wanted, {edge_key(stream, at - first, weights[at]), at});
            }
        for (const uint32_t group : touched_)
            for (const Keyed& edge : smallest_[group]) chosen.push_back(edge.second);
        std::sort(chosen.begin() + static_cast<std::ptrdiff_t>(before), chosen.end());
    }

private:
    using Keyed = std::pair<double, int64_t>;  // key, position

    // Rules an edge out without its logarithm, as happens to most of a long list: -log(u) is at least 1 - u.
    bool may_be_drawn(const DrawStream& stream, uint64_t place, uint32_t group, int64_t wanted, double weight) const {
        const std::vector<Keyed>& heap = smallest_[group];
        return static_cast<int64_t>(heap.size()) < wanted || 1 - in_unit_interval(stream, place) <= heap.front().first * weight;
    }

    void offer(uint32_t group, int64_t wanted, Keyed edge) {
        std::vector<Keyed>& heap = smallest_[group];  // the largest in front
        if (heap.empty()) touched_.push_back(group);
        if (static_cast<int64_t>(heap.size()) == wanted) {
            if (!(edge < heap.front())) return;
            std::pop_heap(heap.begin(), heap.end());
            heap.back() = edge;
        } else {
            heap.push_back(edge);
        }
        std::push_heap(heap.begin(), heap.end());
    }

    std::vector<std::vector<Keyed>> smallest_;  // by relation, or one
    std::vector<uint32_t> touched_;
};

}  // namespace marius
