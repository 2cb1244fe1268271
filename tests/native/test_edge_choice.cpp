// Edges chosen by keys: the smallest of each relation, whatever was chosen before.
#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "check.h"
#include "graph/edge_choice.h"

using namespace marius;

namespace {

std::mt19937_64 random_bits(5);

uint64_t below(uint64_t bound) { return random_bits() % bound; }

struct List {
    std::vector<uint32_t> rel;
    std::vector<float> weights;
    Stretches candidates;

    explicit List(size_t length) : rel(length), weights(length) {
        for (uint32_t& r : rel) r = static_cast<uint32_t>(below(3));
        for (float& weight : weights) weight = static_cast<float>(below(5)) / 4;
        for (size_t at = 0; at < length;) {
            const size_t end = at + 1 + below(length - at);
            if (below(3)) candidates.insert(candidates.end(), {static_cast<int64_t>(at), static_cast<int64_t>(end)});
            at = end;
        }
    }
};

std::vector<int64_t> plainly(const DrawStream& stream, const std::vector<int64_t>& fanouts, const List& list, bool weighted,
                             int64_t first) {
    std::vector<int64_t> chosen;
    for (size_t r = 0; r < fanouts.size(); ++r) {
        std::vector<std::pair<double, int64_t>> keyed;
        for (size_t i = 0; i < list.candidates.size(); i += 2)
            for (int64_t at = list.candidates[i]; at < list.candidates[i + 1]; ++at) {
                if (fanouts.size() > 1 && list.rel[at] != r) continue;
                if (fanouts[r] < 0) keyed.push_back({0, at});
                else if (!weighted || list.weights[at] > 0)
                    keyed.push_back(
                        {weighted ? edge_key(stream, at - first, list.weights[at]) : edge_key(stream, at - first), at});
            }
        std::sort(keyed.begin(), keyed.end());
        if (fanouts[r] >= 0) keyed.resize(std::min<size_t>(keyed.size(), fanouts[r]));
        for (const auto& [key, at] : keyed) chosen.push_back(at);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

void the_smallest_keys_are_chosen() {
    EdgeChoice choice;
    for (int round = 0; round < 3000; ++round) {
        const List list(1 + below(below(2) ? 20 : 2000));
        std::vector<int64_t> fanouts(below(2) ? 1 : 3);
        for (int64_t& fanout : fanouts) fanout = static_cast<int64_t>(below(12)) - 1;
        const bool by_relation = fanouts.size() > 1, weighted = below(2);
        const Fanout fanout = by_relation ? Fanout(fanouts.data(), 3) : Fanout(fanouts[0]);
        const DrawStream stream(round, 1, 7);
        const int64_t first = list.candidates.empty() ? 0 : list.candidates[0];
        std::vector<int64_t> chosen{-5};
        choice.choose(stream, fanout, by_relation ? list.rel.data() : nullptr, weighted ? list.weights.data() : nullptr, first,
                      list.candidates, chosen);
        CHECK(chosen[0] == -5);
        chosen.erase(chosen.begin());
        CHECK(chosen == plainly(stream, fanouts, list, weighted, first));
    }
}

void a_refused_list_leaves_nothing_behind() {
    EdgeChoice choice;
    const std::vector<int64_t> fanouts{1, 1};
    const std::vector<uint32_t> rel{0, 0, 1, 2};
    const Fanout fanout(fanouts.data(), 2);
    const DrawStream stream(1, 2, 3);
    std::vector<int64_t> chosen;
    CHECK_THROWS(choice.choose(stream, fanout, rel.data(), nullptr, 0, {0, 4}, chosen), std::invalid_argument);
    chosen.clear();
    choice.choose(stream, fanout, rel.data(), nullptr, 0, {2, 3}, chosen);
    CHECK(chosen == std::vector<int64_t>{2});
}

}  // namespace

int main() {
    the_smallest_keys_are_chosen();
    a_refused_list_leaves_nothing_behind();
    return 0;
}
