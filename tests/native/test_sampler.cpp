// The neighbour sampler and its parts: against plain versions, on any number of threads.
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"
#include "graph/drawn_set.h"
#include "graph/excluded_edges.h"
#include "graph/first_seen.h"
#include "graph/in_lists.h"
#include "graph/residency.h"
#include "graph/sampler.h"
#include "random_graph.h"

using namespace marius;

namespace {

void dividing() {
    for (uint64_t d : {1ull, 2ull, 3ull, 7ull, 1000ull, 15625ull, 0x7fffffffull, 0xffffffffull, 1ull << 32, 1ull << 40}) {
        const Divider divide(d);
        for (int i = 0; i < 2000; ++i) {
            const uint64_t wide = random_bits() >> below(60);
            const uint32_t any = static_cast<uint32_t>(wide);
            const uint32_t near = static_cast<uint32_t>(d * below(1 + 0xffffffffull / d) - below(2));
            CHECK(divide(wide) == wide / d && divide(near) == near / d && divide(any) == any / d);
        }
    }
}

void draws() {
    DrawnSet set;
    for (uint64_t bound : {1ull, 5ull, 63ull, 64ull, 65ull, 500ull, 1ull << 40})
        for (size_t count : {0, 1, 4, 32, 33, 200}) {
            if (count > bound) continue;
            std::vector<uint64_t> drawn(count), again(count);
            draw_distinct(DrawStream(1, 2, bound), bound, count, drawn.data(), set);
            draw_distinct(DrawStream(1, 2, bound), bound, count, again.data(), set);
            CHECK(drawn == again);
            CHECK(std::set<uint64_t>(drawn.begin(), drawn.end()).size() == count);
            for (uint64_t x : drawn) CHECK(x < bound);
        }
}

// Also where positions are about to run out, so that old ones must be forgotten.
void first_seen_by_shards() {
    for (uint32_t base : {1u, 0x7ffffff0u})
        for (int shards : {1, 2, 3, 8}) {
            FirstSeen<uint32_t> first_seen(base);
            for (int round = 0; round < 4; ++round) {
                std::vector<uint32_t> ids(below(4000));
                for (uint32_t& id : ids) id = static_cast<uint32_t>(below(1 + below(100'000)));
                std::vector<uint32_t> first(ids.size());
                first_seen.begin(shards);
                for (size_t to : {ids.size() / 3, ids.size() / 2, ids.size()}) {
                    first_seen.extend(to);
                    std::vector<std::thread> threads;
                    for (int shard = 0; shard < shards; ++shard)
                        threads.emplace_back([&, shard] { first_seen.find(shard, ids.data(), first.data()); });
                    for (std::thread& thread : threads) thread.join();
                }
                std::map<uint32_t, uint32_t> expected;
                for (uint32_t x = 0; x < ids.size(); ++x) CHECK(first[x] == expected.try_emplace(ids[x], x).first->second);
            }
        }
}

// Random ids, and ids all in one place: no guess holds there.
void stretches_of_lists() {
    for (int round = 0; round < 400; ++round) {
        const uint64_t nodes = 1 + below(3000), rows = 1 + below(nodes), partitions = (nodes + rows - 1) / rows;
        Residency residency(rows, nodes);
        for (uint64_t k = 0; k < partitions; ++k)
            if (below(2)) residency.set(k, true);
        const uint64_t low = below(nodes), span = below(2) ? nodes - low : 1 + below(std::min<uint64_t>(nodes - low, 5));
        std::vector<uint32_t> list(below(2) ? below(60) : below(6000));
        for (uint32_t& id : list) id = static_cast<uint32_t>(low + below(span));
        std::sort(list.begin(), list.end());
        const int64_t begin = static_cast<int64_t>(below(1 + list.size())), end = static_cast<int64_t>(list.size());
        Stretches found{7, 9};
        residency.prefetch(list.data(), begin, end);
        residency.stretches(list.data(), begin, end, found);
        std::vector<int64_t> positions, expected;
        for (size_t i = 0; i < found.size(); i += 2) {
            CHECK(found[i] < found[i + 1]);
            for (int64_t at = found[i]; at < found[i + 1]; ++at) positions.push_back(at);
        }
        for (int64_t at = begin; at < end; ++at)
            if (residency.has(list[at] / rows)) expected.push_back(at);
        CHECK(positions == expected);
    }
}

void excluded_edges() {
    for (int round = 0; round < 200; ++round) {
        std::vector<int64_t> pairs;
        for (uint64_t i = 2 * below(20); i > 0; --i) pairs.push_back(static_cast<int64_t>(below(12)));
        const bool both = below(2);
        const ExcludedEdges excluded(pairs.data(), pairs.size() / 2, both);
        const uint64_t dst = below(12);
        std::vector<uint32_t> list(below(40));
        for (uint32_t& id : list) id = static_cast<uint32_t>(below(12));
        std::sort(list.begin(), list.end());
        const int64_t middle = static_cast<int64_t>(below(1 + list.size())), end = static_cast<int64_t>(list.size());
        Stretches kept;
        if (middle > 0) kept.insert(kept.end(), {0, middle});
        if (middle < end) kept.insert(kept.end(), {middle, end});
        const bool may = excluded.may_have(dst);
        excluded.remove(dst, list.data(), kept);
        std::set<int64_t> left;
        for (size_t i = 0; i < kept.size(); i += 2)
            for (int64_t at = kept[i]; at < kept[i + 1]; ++at) CHECK(left.insert(at).second);
        for (int64_t at = 0; at < end; ++at) {
            bool out = false;
            for (size_t i = 0; i < pairs.size(); i += 2) {
                out |= pairs[i] == list[at] && pairs[i + 1] == static_cast<int64_t>(dst);
                out |= both && pairs[i + 1] == list[at] && pairs[i] == static_cast<int64_t>(dst);
            }
            CHECK(left.contains(at) == !out);
            CHECK(may || !out);
        }
    }
}

template <class Id>
void threads_change_nothing(std::vector<Fanout> fanouts, bool weighted) {
    const Graph<Id> graph(5000, 300, 120'000);
    NeighbourSampler<Id> sampler(graph.rows, graph.nodes);
    std::vector<int64_t> seeds;
    for (uint64_t k = 0; k < graph.indptr.size(); ++k)
        if (k % 3) graph.enter(sampler, k, weighted);
    for (int64_t node = 0; node < 5000; node += 7)
        if (node / 300 % 3) seeds.push_back(node);
    const std::vector<int64_t> excluded{seeds[0], seeds[1], seeds[2], seeds[0]};
    const auto sample = [&](int threads) {
        return sampler.sample(
            {seeds.data(), static_cast<int64_t>(seeds.size()), fanouts, 5, threads, ExcludedEdges(excluded.data(), 2, true)});
    };
    const NeighbourSample one = sample(1);
    CHECK(one.labels.size() > 10'000 && one.missing > 0 && one.missing < one.neighbours);
    for (int threads : {2, 4, 0, 30, 1}) {
        const NeighbourSample other = sample(threads);
        CHECK(copied(one.nodes) == copied(other.nodes) && copied(one.rows) == copied(other.rows));
        CHECK(copied(one.labels) == copied(other.labels) && copied(one.indptr) == copied(other.indptr));
        CHECK(copied(one.rel) == copied(other.rel) && copied(one.hop_nodes) == copied(other.hop_nodes));
        CHECK(one.missing == other.missing && one.neighbours == other.neighbours);
    }
    for (size_t i = 0; i < one.nodes.size(); ++i) {
        const int64_t k = one.nodes[i] / 300;
        CHECK(k % 3 != 0 && one.rows[i] == 1000 * k + one.nodes[i] % 300);
    }
}

void what_cannot_be_sampled() {
    const Graph<uint32_t> graph(100, 40, 500);
    NeighbourSampler<uint32_t> sampler(40, 100);
    graph.enter(sampler, 0);
    const auto sample = [&](std::vector<int64_t> seeds) {
        return sampler.sample({seeds.data(), static_cast<int64_t>(seeds.size()), {3, 3}, 0, 2, {}});
    };
    CHECK(sample({}).nodes.size() == 0 && sample({}).indptr.size() == 1);
    CHECK_THROWS(sample({1, 50}), std::invalid_argument);
    CHECK_THROWS(sample({100}), std::invalid_argument);
    CHECK_THROWS(sample({-1}), std::invalid_argument);
    CHECK_THROWS(sample({3, 4, 3}), std::invalid_argument);
    CHECK_THROWS(graph.enter(sampler, 0), std::invalid_argument);
    CHECK_THROWS(sampler.leave(1), std::invalid_argument);
    CHECK_THROWS(sampler.enter(1, {0, graph.indptr[1].data(), graph.sources[1].data(), graph.rel[1].data()}, 3),
                 std::invalid_argument);
    const NeighbourSample before = sample({3, 4});
    graph.enter(sampler, 2);
    CHECK_THROWS(graph.enter(sampler, 1, true), std::invalid_argument);
    sampler.leave(2);
    CHECK_THROWS(sampler.move(2, 0), std::invalid_argument);
    sampler.move(0, 70);
    CHECK(sample({3, 4}).rows[1] == 74 && sampler.edges_moved() == graph.indptr[0].back() + graph.indptr[2].back());
    CHECK(copied(before.nodes) == copied(sample({3, 4}).nodes));
}

void filling_lists() {
    int64_t cursors[2] = {0, 1};
    uint64_t sources[3] = {};
    uint32_t rels[3] = {};
    float weights[3] = {};
    const uint32_t src[3] = {5, 1, 2}, dst[3] = {0, 1, 1}, rel[3] = {7, 8, 9};
    const float weight[3] = {0.5, 1.5, 2.5};
    const int64_t bucket = 10 * 30 + 20, ends[2] = {3, 1};  // of rows of 10 nodes
    const BucketRuns three{&bucket, ends, 1, 30, 10}, one{&bucket, ends + 1, 1, 30, 10};
    append_in_edges<uint64_t>(src, dst, rel, weight, 3, three, {cursors, 2, 200, sources, rels, weights, 3});
    CHECK(cursors[0] == 1 && cursors[1] == 3 && sources[0] == 105 && sources[2] == 102 && rels[1] == 8 && weights[2] == 2.5);
    const auto full = [&] {
        append_in_edges<uint64_t>(src + 1, dst + 1, rel, nullptr, 1, one, {cursors, 2, 200, sources, nullptr, nullptr, 3});
    };
    CHECK_THROWS(full(), std::invalid_argument);
    const auto outside = [&] {
        append_in_edges<uint64_t>(src, dst + 1, rel, nullptr, 1, one, {cursors, 1, 200, sources, nullptr, nullptr, 3});
    };
    CHECK_THROWS(outside(), std::invalid_argument);
}

void counting_ends() {
    const int64_t buckets[3] = {1, 2, 3}, ends[3] = {2, 2, 4};  // of 2 * 2, rows of 4 nodes
    const BucketRuns runs{buckets, ends, 3, 2, 4};
    const uint32_t offsets[4] = {0, 3, 3, 1};
    uint64_t degrees[3] = {~0ULL >> 32, 0, 0};
    uint8_t seen[3] = {4, 0, 0};
    count_ends<uint64_t>(offsets, 4, runs, false, 1, {degrees, seen, 3, 3});  // sources 0 3 7 5; nodes 3, 4, 5 are counted
    CHECK(degrees[0] == 1ULL << 32 && degrees[1] == 0 && degrees[2] == 1);
    CHECK(seen[0] == 5 && seen[1] == 0 && seen[2] == 1);
    count_ends<uint32_t>(offsets, 4, runs, true, 2, {nullptr, seen, 3, 3});  // destinations 4 7 7 5
    CHECK(seen[0] == 5 && seen[1] == 2 && seen[2] == 3);
    const uint32_t outside = 4;
    const BucketRuns one{buckets, ends, 1, 2, 4};
    const auto count = [&](const uint32_t* from, size_t edges) {
        count_ends<uint64_t>(from, edges, one, true, 2, {degrees, seen, 3, 3});
    };
    CHECK_THROWS(count(&outside, 1), std::invalid_argument);
    CHECK_THROWS(count(offsets, 3), std::invalid_argument);
}

}  // namespace

int main() {
    dividing();
    draws();
    first_seen_by_shards();
    stretches_of_lists();
    excluded_edges();
    const std::vector<int64_t> by_relation{3, 0, 20, -1, 8};
    for (bool weighted : {false, true}) {
        threads_change_nothing<uint32_t>({10, 40, -1}, weighted);
        threads_change_nothing<uint64_t>({10, 40, -1}, weighted);
        threads_change_nothing<uint32_t>({10, Fanout(by_relation.data(), 5), 6}, weighted);
    }
    what_cannot_be_sampled();
    filling_lists();
    counting_ends();
    return 0;
}
