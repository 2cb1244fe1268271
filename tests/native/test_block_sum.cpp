// Sums of neighbours' rows, block by block: by definition, and the same bits for any blocks and any number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "check.h"
#include "layers/block_sum.h"
#include "random.h"

using namespace marius;

namespace {

template <class Id> struct Graph {
    static constexpr std::int64_t nodes = 900, dim = 21, first = 300, targets = 400;  // the targets are nodes 300 to 699
    std::vector<std::int64_t> indptr{0};
    std::vector<Id> sources;
    std::vector<float> x = random_floats(nodes * dim), of_targets = random_floats(targets), of_sources = random_floats(nodes),
                       of_edges;

    Graph() {
        for (std::int64_t t = 0; t < targets; ++t) {
            std::vector<Id> list(random_bits() % 12);
            for (Id& source : list) source = static_cast<Id>(random_bits() % nodes);
            if (t % 7 == 0) list.push_back(static_cast<Id>(first + t));
            std::sort(list.begin(), list.end());
            sources.insert(sources.end(), list.begin(), list.end());
            indptr.push_back(static_cast<std::int64_t>(sources.size()));
        }
        of_edges = random_floats(static_cast<std::int64_t>(sources.size()));
    }

    AscendingLists<Id> lists() const {
        return {indptr.data(), targets, sources.data(), static_cast<std::int64_t>(sources.size())};
    }

    std::vector<float> sums(std::int64_t rows_of_block, bool scaled, std::int64_t without, int threads) const {
        std::vector<float> sums(targets * dim);
        std::vector<std::int64_t> next(indptr.begin(), indptr.end() - 1);
        for (std::int64_t at = 0; at < nodes; at += rows_of_block) {
            const Rows<const float> block{x.data() + at * dim, std::min(rows_of_block, nodes - at), dim};
            const Factors factors{of_targets.data(), scaled ? of_sources.data() + at : nullptr, without,
                                  without >= 0 ? of_edges.data() : nullptr};
            add_block(lists(), block, at, factors, next.data(), {sums.data(), targets, dim}, dim, threads);
        }
        CHECK(std::equal(next.begin(), next.end(), indptr.begin() + 1));
        return sums;
    }
};

template <class Id> void equal_to_the_definition(bool scaled, std::int64_t without) {
    const Graph<Id> graph;
    std::vector<double> expected(graph.targets * graph.dim);
    for (std::int64_t t = 0; t < graph.targets; ++t)
        for (std::int64_t e = graph.indptr[t]; e < graph.indptr[t + 1]; ++e) {
            const auto source = static_cast<std::int64_t>(graph.sources[e]);
            if (without >= 0 && source == without + t) continue;
            const double of_edge = without >= 0 ? graph.of_edges[e] : 1.0;
            const double weight = of_edge * graph.of_targets[t] * (scaled ? graph.of_sources[source] : 1.0);
            for (std::int64_t c = 0; c < graph.dim; ++c) expected[t * graph.dim + c] += weight * graph.x[source * graph.dim + c];
        }
    const std::vector<float> whole = graph.sums(graph.nodes, scaled, without, 1);
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(whole[i] - expected[i]) < 1e-4);
    for (std::int64_t rows_of_block : {1, 7, 256, 900})
        for (int threads : {1, 3}) {
            const std::vector<float> sums = graph.sums(rows_of_block, scaled, without, threads);
            CHECK(std::memcmp(sums.data(), whole.data(), sums.size() * sizeof(float)) == 0);
        }
}

void misfits_are_refused() {
    const std::vector<float> x(40, 1.0f), factors(2, 1.0f);
    std::vector<float> sums(8);
    const std::int64_t indptr[] = {0, 2, 3}, beyond[] = {0, 2, 4};
    const std::uint32_t ascending[] = {3, 7, 5}, descending[] = {7, 3, 5};
    const auto add = [&](const std::int64_t* starts, const std::uint32_t* sources, std::int64_t first, std::int64_t next) {
        std::int64_t at[] = {next, 2};
        add_block<std::uint32_t>({starts, 2, sources, 3}, {x.data(), 10, 4}, first, {factors.data()}, at, {sums.data(), 2, 4}, 4,
                                 1);
    };
    add(indptr, ascending, 0, 0);
    CHECK_THROWS(add(indptr, descending, 5, 0), std::invalid_argument);  // 7, then 3, which is before the block
    CHECK_THROWS(add(indptr, ascending, 4, 0), std::invalid_argument);   // 3 was in no block
    CHECK_THROWS(add(beyond, ascending, 0, 0), std::invalid_argument);
    CHECK_THROWS(add(indptr, ascending, 0, 3), std::invalid_argument);
    CHECK_THROWS(add(indptr, ascending, 0, -1), std::invalid_argument);
}

}  // namespace

int main() {
    for (bool scaled : {false, true})
        for (std::int64_t without : {-1, 300}) {
            equal_to_the_definition<std::uint32_t>(scaled, without);
            equal_to_the_definition<std::uint64_t>(scaled, without);
        }
    misfits_are_refused();
}
