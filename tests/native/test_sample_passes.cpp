// Samples that grow in passes: the same as those that grow at once, in any number of threads, side by side.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "check.h"
#include "graph/sampler.h"
#include "random_graph.h"

using namespace marius;

namespace {

template <class Id>
void passes_change_nothing(const std::vector<Fanout>& fanouts, bool weighted) {
    const Graph<Id> graph(3000, 300, 30'000);
    NeighbourSampler<Id> whole(300, 3000), passing(300, 3000, true);
    for (uint64_t k = 0; k < 10; ++k) graph.enter(whole, k, weighted);
    std::vector<std::vector<int64_t>> seeds(3);
    for (size_t x = 0; x < seeds.size(); ++x)
        for (int64_t node = static_cast<int64_t>(x); node < 3000; node += 13) seeds[x].push_back(2999 - node);
    const auto request = [&](size_t x, int threads) {
        return SampleRequest{seeds[x].data(), static_cast<int64_t>(seeds[x].size()), fanouts, 5 + x, threads, {}};
    };
    for (int threads : {1, 4}) {
        std::vector<GrowingSample<Id>> growing;
        for (size_t x = 0; x < seeds.size(); ++x) growing.push_back(passing.begin(request(x, threads)));
        for (size_t hop = 0; hop < fanouts.size(); ++hop) {
            for (uint64_t k = 0; k < 10; ++k) {
                graph.enter(passing, k, weighted);
                for (GrowingSample<Id>& each : growing) passing.draw(each, k);
                passing.leave(k);
            }
            for (GrowingSample<Id>& each : growing) passing.close_hop(each);
        }
        for (size_t x = 0; x < seeds.size(); ++x) {
            const NeighbourSample expected = whole.sample(request(x, 2)), &found = growing[x].out;
            CHECK(copied(found.nodes) == copied(expected.nodes) && copied(found.rows) == copied(expected.nodes));
            CHECK(copied(found.labels) == copied(expected.labels) && copied(found.indptr) == copied(expected.indptr));
            CHECK(copied(found.rel) == copied(expected.rel) && copied(found.hop_nodes) == copied(expected.hop_nodes));
            CHECK(copied(found.hop_edges) == copied(expected.hop_edges));
            CHECK(found.neighbours == expected.neighbours && found.missing == 0);
        }
    }
}

void what_is_no_pass() {
    const Graph<uint32_t> graph(100, 40, 500);
    NeighbourSampler<uint32_t> resident(40, 100), passing(40, 100, true);
    const std::vector<int64_t> seeds{3, 50};
    const SampleRequest request{seeds.data(), 2, {2}, 0, 1, {}};
    CHECK_THROWS(resident.begin(request), std::invalid_argument);
    GrowingSample<uint32_t> growing = passing.begin(request);
    CHECK_THROWS(passing.draw(growing, 0), std::invalid_argument);
    graph.enter(passing, 1);
    CHECK_THROWS(passing.draw(growing, 1), std::invalid_argument);
    CHECK_THROWS(passing.draw(growing, 7), std::invalid_argument);
    CHECK_THROWS(passing.close_hop(growing), std::invalid_argument);
    graph.enter(passing, 0);
    passing.draw(growing, 0);
    passing.draw(growing, 1);
    CHECK_THROWS(passing.draw(growing, 1), std::invalid_argument);
    passing.close_hop(growing);
    CHECK_THROWS(passing.draw(growing, 0), std::invalid_argument);
    CHECK_THROWS(passing.close_hop(growing), std::invalid_argument);
}

}  // namespace

int main() {
    const std::vector<int64_t> by_relation{3, 0, 20, -1, 8};
    for (bool weighted : {false, true}) {
        passes_change_nothing<uint32_t>({10, 40, -1}, weighted);
        passes_change_nothing<uint64_t>({10, 0, 5}, weighted);
        passes_change_nothing<uint32_t>({10, Fanout(by_relation.data(), 5), 6}, weighted);
    }
    what_is_no_pass();
    return 0;
}
