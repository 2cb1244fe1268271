// A graph as in-edge lists by partition, for tests of what samples it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "graph/growing.h"
#include "graph/sampler.h"

namespace marius {

inline std::mt19937_64 random_bits(3);

inline uint64_t below(uint64_t bound) { return random_bits() % bound; }

template <class Id>
struct Graph {
    uint64_t nodes, rows;
    std::vector<std::vector<int64_t>> indptr;  // by partition
    std::vector<std::vector<Id>> sources;
    std::vector<std::vector<uint32_t>> rel;
    std::vector<std::vector<float>> weights;

    Graph(uint64_t n, uint64_t r, uint64_t edges) : nodes(n), rows(r) {
        std::vector<std::vector<Id>> lists(nodes);
        for (uint64_t e = 0; e < edges; ++e) lists[below(2) ? below(nodes) : below(3)].push_back(static_cast<Id>(below(nodes)));
        for (uint64_t first = 0; first < nodes; first += rows) {
            indptr.push_back({0});
            sources.emplace_back();
            for (uint64_t node = first; node < std::min(first + rows, nodes); ++node) {
                std::sort(lists[node].begin(), lists[node].end());
                sources.back().insert(sources.back().end(), lists[node].begin(), lists[node].end());
                indptr.back().push_back(static_cast<int64_t>(sources.back().size()));
            }
            rel.emplace_back(sources.back().size());
            for (uint32_t& r0 : rel.back()) r0 = static_cast<uint32_t>(below(5));
            weights.emplace_back(sources.back().size());
            for (float& weight : weights.back()) weight = static_cast<float>(below(4));
        }
    }
    void enter(NeighbourSampler<Id>& sampler, uint64_t k, bool weighted = false) const {
        sampler.enter(k,
                      {static_cast<int64_t>(1000 * k), indptr[k].data(), sources[k].data(), rel[k].data(),
                       weighted ? weights[k].data() : nullptr},
                      static_cast<int64_t>(sources[k].size()));
    }
};

template <class T>
std::vector<T> copied(const Growing<T>& values) {
    return {values.data(), values.data() + values.size()};
}

}  // namespace marius
