// Trees of single seeds, and the edges among their nodes: on any number of threads the same.
#include <cstdint>
#include <random>
#include <vector>

#include "check.h"
#include "graph/edges_among.h"
#include "graph/trees.h"

using namespace marius;

namespace {

constexpr int64_t kNodes = 900, kRows = 300;

template <class Id>
struct Lists {  // of a partition
    std::vector<int64_t> indptr{0};
    std::vector<Id> sources;
    std::vector<uint32_t> rel;
};

template <class Id>
std::vector<Lists<Id>> random_lists() {
    std::mt19937_64 random_bits(7);
    std::vector<Lists<Id>> lists(kNodes / kRows);
    for (int64_t node = 0; node < kNodes; ++node) {
        Lists<Id>& mine = lists[node / kRows];
        const uint64_t step = node % 100 ? 40 : 1;  // some have a long list
        for (uint64_t source = random_bits() % step; source < kNodes; source += 1 + random_bits() % step) {
            mine.sources.push_back(static_cast<Id>(source));
            mine.rel.push_back(static_cast<uint32_t>(random_bits() % 3));
        }
        mine.indptr.push_back(static_cast<int64_t>(mine.sources.size()));
    }
    return lists;
}

template <class T>
std::vector<T> copied(const Growing<T>& values) {
    return {values.data(), values.data() + values.size()};
}

template <class Id>
void threads_change_nothing(bool replace) {
    const std::vector<Lists<Id>> lists = random_lists<Id>();
    NeighbourSampler<Id> sampler(kRows, kNodes);
    for (uint64_t k = 0; k < lists.size(); ++k)
        sampler.enter(k, {static_cast<int64_t>(k) * kRows, lists[k].indptr.data(), lists[k].sources.data(), lists[k].rel.data()},
                      static_cast<int64_t>(lists[k].sources.size()));
    std::vector<int64_t> seeds;
    for (int64_t i = 0; i < 400; ++i) seeds.push_back(i * 7 % 250);  // some stand there twice
    const auto sample = [&](int threads) {
        SampleRequest request{seeds.data(), static_cast<int64_t>(seeds.size()), {4, 3}, 5, threads, {}, replace};
        return sample_trees(sampler, request);
    };
    const NeighbourSample one = sample(1);
    CHECK(one.nodes.size() > 3000 && one.hop_nodes.size() == 3 && one.hop_nodes[0] == 400);
    std::vector<int32_t> trees(one.nodes.size());  // that of the first target, for a node that was not a seed
    for (int64_t i = 0; i < 400; ++i) trees[i] = static_cast<int32_t>(i);
    for (size_t i = 0; i + 1 < one.indptr.size(); ++i)
        for (int64_t e = one.indptr[i]; e < one.indptr[i + 1]; ++e) trees[one.labels[400 + e]] = trees[i];
    const auto among = [&](int threads) {
        return edges_among(sampler, one.nodes.data(), trees.data(), static_cast<int64_t>(trees.size()), threads);
    };
    const EdgesAmong all = among(1);
    for (int threads : {2, 4, 1}) {
        const NeighbourSample other = sample(threads);
        CHECK(copied(one.nodes) == copied(other.nodes) && copied(one.rows) == copied(other.rows));
        CHECK(copied(one.labels) == copied(other.labels) && copied(one.indptr) == copied(other.indptr));
        CHECK(copied(one.rel) == copied(other.rel) && copied(one.hop_nodes) == copied(other.hop_nodes));
        CHECK(copied(one.hop_edges) == copied(other.hop_edges) && one.neighbours == other.neighbours);
        const EdgesAmong again = among(threads);
        CHECK(copied(all.indptr) == copied(again.indptr) && copied(all.indices) == copied(again.indices));
        CHECK(copied(all.rel) == copied(again.rel));
    }
    CHECK(replace || all.indices.size() >= one.labels.size() - 400);  // what is sampled is among them
    for (size_t i = 0; i < trees.size(); ++i)
        for (int64_t e = all.indptr[i]; e < all.indptr[i + 1]; ++e) CHECK(trees[all.indices[e]] == trees[i]);
}

}  // namespace

int main() {
    for (bool replace : {false, true}) {
        threads_change_nothing<uint32_t>(replace);
        threads_change_nothing<uint64_t>(replace);
    }
    return 0;
}
