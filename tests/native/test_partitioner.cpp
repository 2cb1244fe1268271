// Neighbour lists come back as they were written, whatever the blocks; the passes keep sizes within their bounds and the cut falls.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "check.h"
#include "graph/lists_between.h"
#include "graph/partitioner.h"

using namespace marius;

namespace {

using Pair = std::pair<uint32_t, uint32_t>;
using Weighted = std::map<Pair, uint64_t>;

// 40 communities of 50 nodes with numbers dealt out at random, a hub that ends a third of all edges, and 100 nodes alone.
constexpr uint32_t kNodes = 2100, kConnected = 2000, kHub = 7;

std::vector<ArcRecord> planted(std::mt19937_64& rng) {
    std::vector<uint32_t> number(kNodes);
    std::iota(number.begin(), number.end(), 0u);
    std::shuffle(number.begin(), number.end(), rng);
    std::vector<ArcRecord> records;
    for (int i = 0; i < 30'000; ++i) {
        uint32_t u = rng() % kConnected, v = i % 3 == 0 ? kHub : rng() % 10 ? u / 50 * 50 + rng() % 50 : rng() % kConnected;
        if (u == v) continue;
        records.push_back(arc_record(number[u], number[v], 1));
        records.push_back(arc_record(number[v], number[u], 1));
    }
    std::sort(records.begin(), records.end());
    return records;
}

std::vector<std::vector<uint8_t>> written(const std::vector<ArcRecord>& records, size_t block, uint64_t& arcs) {
    std::vector<std::vector<uint8_t>> blocks;
    std::vector<uint8_t> bytes;
    ArcWriter writer;
    for (size_t at = 0; at < records.size(); at += 17) {
        writer.append(records.data() + at, std::min<size_t>(17, records.size() - at), bytes);
        if (bytes.size() < block) continue;
        blocks.push_back(std::exchange(bytes, {}));
        writer.new_block();
    }
    writer.finish(bytes);
    blocks.push_back(bytes);
    arcs = writer.arcs();
    return blocks;
}

template <class Pass>
auto run(Pass&& pass, const std::vector<std::vector<uint8_t>>& blocks) {
    for (const auto& block : blocks) pass.read(block.data(), block.size());
    return pass.finish();
}

Weighted summed(const std::vector<ArcRecord>& records) {
    Weighted found;
    for (const auto& [words] : records) found[{words[0] >> 32, words[0] & 0xffffffff}] += words[1];
    return found;
}

void lists_come_back(const std::vector<ArcRecord>& records, uint64_t nodes, size_t block) {
    uint64_t arcs = 0, next = 0;
    auto blocks = written(records, block, arcs);
    Weighted found;
    ArcReader reader(nodes);
    auto visit = [&](uint64_t node, const Arc* list, size_t count, bool first) {
        CHECK(first ? node == next++ : node + 1 == next && count > 0);
        CHECK(count <= ArcReader::kPart);
        for (size_t i = 0; i < count; ++i) CHECK(found.emplace(Pair{node, list[i].target}, list[i].weight).second);
    };
    for (const auto& bytes : blocks) reader.read(bytes.data(), bytes.data() + bytes.size(), visit);
    reader.finish(visit);
    CHECK(next == nodes && found.size() == arcs && found == summed(records));
}

void long_lists_come_in_parts() {
    constexpr uint32_t nodes = 2 * ArcReader::kPart + 10;
    std::vector<ArcRecord> records;
    for (uint32_t v = 1; v < nodes; ++v) records.push_back(arc_record(3, v, v % 5 + 1));
    lists_come_back(records, nodes, 100'000);
    std::vector<uint32_t> labels(nodes, 0);
    uint64_t arcs;
    Contraction contraction(labels.data(), nodes);
    std::vector<ArcRecord> out;
    labels[3] = 1;
    for (const auto& block : written(records, 1 << 20, arcs)) contraction.read(block.data(), block.size(), out);
    contraction.finish(out);
    uint64_t all = 0;
    for (const auto& [words] : out) {
        CHECK(words[0] == 1ULL << 32);
        all += words[1];
    }
    uint64_t expected = 0;
    for (const auto& [words] : records) expected += (words[0] & 0xffffffff) == 3 ? 0 : words[1];
    CHECK(out.size() == 3 && all == expected);
}

void lists_between_nodes_are_those_of_the_graph(const std::vector<ArcRecord>& records, uint64_t begin, uint64_t end,
                                                size_t block) {
    uint64_t arcs = 0;
    auto blocks = written(records, block, arcs);
    Weighted expected, found;
    for (const auto& [ends, weight] : summed(records))
        if (ends.first >= begin && ends.first < end && ends.second >= begin && ends.second < end)
            expected[{ends.first - begin, ends.second - begin}] = weight;
    std::vector<int64_t> starts(end - begin + 1), targets(expected.size()), weights(expected.size());
    auto pass = [&](uint64_t room) {
        return run(ListsBetween(begin, end, kNodes, starts.data(), targets.data(), weights.data(), room), blocks);
    };
    CHECK(pass(expected.size()) == expected.size());
    for (uint32_t node = 0; node < end - begin; ++node)
        for (int64_t at = starts[node]; at < starts[node + 1]; ++at)
            found[{node, static_cast<uint32_t>(targets[at])}] = static_cast<uint64_t>(weights[at]);
    CHECK(starts.front() == 0 && starts.back() == static_cast<int64_t>(expected.size()) && found == expected);
    if (!expected.empty()) CHECK_THROWS(pass(expected.size() - 1), std::invalid_argument);
}

void broken_bytes_are_refused() {
    auto feed = [](std::vector<uint8_t> bytes) {
        ArcReader reader(4);
        reader.read(bytes.data(), bytes.data() + bytes.size(), [](auto...) {});
    };
    feed({1, 2, 4});                                     // 2 -> 0, 2 -> 1
    CHECK_THROWS(feed({1, 4}), std::invalid_argument);   // no such source
    CHECK_THROWS(feed({17, 0}), std::invalid_argument);  // no such target
    CHECK_THROWS(feed({0x81}), std::invalid_argument);   // inside a number
    CHECK_THROWS(feed({1, 2, 1, 1, 1, 0x80}), std::invalid_argument);
}

uint64_t cut(const std::vector<ArcRecord>& records, const std::vector<uint16_t>& parts) {
    uint64_t found = 0;
    for (const auto& [words] : records) found += parts[words[0] >> 32] != parts[words[0] & 0xffffffff] ? words[1] : 0;
    return found;
}

void clusters_stay_within_bounds(const std::vector<ArcRecord>& records) {
    for (uint64_t most : {1, 7, 50, 4000}) {
        std::vector<uint32_t> same;
        for (size_t block : {50, 1 << 20}) {
            uint64_t arcs = 0, moved = 0;
            auto blocks = written(records, block, arcs);
            std::vector<uint32_t> labels(kNodes), sizes(kNodes, 1);
            std::iota(labels.begin(), labels.end(), 0u);
            for (uint64_t turn = 0; turn < 4; ++turn)
                moved = run(ClusterPass({labels.data(), sizes.data(), nullptr, kNodes, most}, turn), blocks);
            std::vector<uint32_t> counted(kNodes, 0);
            for (uint32_t label : labels) ++counted[label];
            CHECK(counted == sizes && *std::max_element(sizes.begin(), sizes.end()) <= most);
            CHECK(most > 1 || moved == 0);
            uint64_t clusters = number_clusters(labels.data(), sizes.data(), kNodes);
            CHECK(clusters == *std::max_element(labels.begin(), labels.end()) + 1ULL);
            CHECK(most < 50 || clusters < kNodes / 10);
            CHECK(same.empty() || same == labels);
            same = labels;
        }
    }
}

void refinement_lowers_the_cut_within_room(const std::vector<ArcRecord>& records, uint64_t first) {
    constexpr uint64_t p = 7;
    uint64_t arcs = 0;
    auto blocks = written(records, 1000, arcs);
    std::vector<int64_t> room(2 * p), loads(2 * p, 0), loose;
    for (uint64_t node = 0; node < kNodes; ++node) ++room[(node < first ? 0 : p) + node / (kNodes / p)];
    std::vector<uint16_t> parts(kNodes);
    for (uint64_t node = 0; node < kNodes; ++node) parts[node] = static_cast<uint16_t>(node % p);
    deal(parts.data(), first, kNodes, p, room.data());
    for (uint64_t node = 0; node < kNodes; ++node) ++loads[(node < first ? 0 : p) + parts[node]];
    CHECK(loads == room);
    loose = room;
    for (auto& one : loose) one += one ? 20 : 0;
    uint64_t before = cut(records, parts);
    for (int turn = 0; turn < 5; ++turn)
        run(RefinePass({parts.data(), loads.data(), loose.data(), nullptr, first, kNodes, p}, 0), blocks);
    for (uint64_t k = 0; k < 2 * p; ++k) CHECK(loads[k] <= loose[k]);
    CHECK(cut(records, parts) < before);
    run(RefinePass({parts.data(), loads.data(), room.data(), nullptr, first, kNodes, p}, 1ULL << 40), blocks);
    CHECK(loads == room);
    std::fill(loads.begin(), loads.end(), 0);
    for (uint64_t node = 0; node < kNodes; ++node) ++loads[(node < first ? 0 : p) + parts[node]];
    CHECK(loads == room);
}

void ids_follow_partitions() {
    std::vector<uint16_t> parts{2, 0, 1, 0, 2, 1};
    std::vector<uint32_t> order{5, 4, 3, 2, 1, 0}, rank{5, 4, 3, 2, 1, 0};
    std::vector<int64_t> starts{0, 2, 4};
    place(parts.data(), parts.size(), starts.data(), order.data(), rank.data());
    CHECK((order == std::vector<uint32_t>{4, 2, 3, 0, 5, 1}));
    for (uint32_t id = 0; id < order.size(); ++id) CHECK(rank[order[id]] == id);
}

void clusters_lie_side_by_side() {
    std::vector<uint32_t> parents{1, 0, 1, 1}, weights{2, 5, 1, 3}, free{10, 0}, starts(4);
    lay_out(parents.data(), weights.data(), 4, free.data(), starts.data());
    CHECK((starts == std::vector<uint32_t>{0, 10, 2, 3}));
}

}  // namespace

int main() {
    std::mt19937_64 rng(5);
    auto records = planted(rng);
    for (size_t block : {1, 300, 1 << 20}) lists_come_back(records, kNodes, block);
    for (size_t block : {1, 300, 1 << 20})
        for (auto [begin, end] : {Pair{0, kNodes}, Pair{0, 700}, Pair{700, kNodes}, Pair{5, 5}})
            lists_between_nodes_are_those_of_the_graph(records, begin, end, block);
    lists_come_back({}, 5, 10);
    long_lists_come_in_parts();
    broken_bytes_are_refused();
    clusters_stay_within_bounds(records);
    for (uint64_t first : {uint64_t{0}, uint64_t{500}, uint64_t{kNodes}}) refinement_lowers_the_cut_within_room(records, first);
    ids_follow_partitions();
    clusters_lie_side_by_side();
}
