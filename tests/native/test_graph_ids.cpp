// Id tables: one id per distinct key, in order of first sight; ranks are a permutation that the key decides.
#include <algorithm>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "check.h"
#include "graph/id_table.h"

using namespace marius;

namespace {

void check_ranks(const auto& table, int threads) {
    const size_t n = table.size();
    std::vector<uint32_t> order(n), rank(n), narrow(n);
    std::vector<uint64_t> order64(n), rank64(n);
    table.rank(order.data(), rank.data(), threads);
    table.rank(order64.data(), rank64.data(), 1);
    for (size_t r = 0; r < n; ++r) {
        CHECK(rank[order[r]] == r);
        CHECK(order64[r] == order[r] && rank64[r] == rank[r]);
    }
}

void ints() {
    std::mt19937_64 rng(1);
    std::vector<int64_t> raw(100'000);
    for (auto& id : raw) id = static_cast<int64_t>(rng() % 30'000) * (rng() % 2 ? 1 : 1LL << 40);
    std::unordered_map<int64_t, uint64_t> expected;
    IdTable<IntKeys> table(7);
    std::vector<uint64_t> out(raw.size());
    for (size_t at = 0; at < raw.size(); at += 777)
        table.add(static_cast<const int64_t*>(raw.data()) + at, std::min<size_t>(777, raw.size() - at), out.data() + at);
    for (size_t i = 0; i < raw.size(); ++i) {
        CHECK(expected.emplace(raw[i], expected.size()).first->second == out[i]);
        CHECK(table.keys().at(out[i]) == raw[i]);
    }
    CHECK(table.size() == expected.size());
    check_ranks(table, 3);
}

void strings() {
    std::mt19937_64 rng(2);
    std::vector<std::string> names;
    for (int i = 0; i < 5000; ++i) names.push_back(std::string(rng() % 20, 'x') + std::to_string(rng() % 3000));
    names.emplace_back(1000, 'y');
    names.emplace_back("");
    names.emplace_back("\0", 1);
    names.emplace_back("\0\0", 2);
    std::string data;
    std::vector<int32_t> offsets{0};
    for (const auto& name : names) {
        data += name;
        offsets.push_back(static_cast<int32_t>(data.size()));
    }
    IdTable<StringKeys> table(7);
    std::vector<uint64_t> out(names.size());
    table.add(ArrowStrings{offsets.data(), data.data()}, names.size(), out.data());
    std::unordered_map<std::string, uint64_t> expected;
    for (size_t i = 0; i < names.size(); ++i) {
        CHECK(expected.emplace(names[i], expected.size()).first->second == out[i]);
        CHECK(table.keys().at(out[i]) == names[i]);
    }
    check_ranks(table, 2);
}

// The order of nodes does not depend on the order in which they were seen, and another key gives another one.
void order_depends_on_key_only() {
    std::vector<int64_t> raw(1000), turned;
    for (size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<int64_t>(i * i);
    turned.assign(raw.rbegin(), raw.rend());
    auto ordered = [](const std::vector<int64_t>& ids, uint64_t key) {
        IdTable<IntKeys> table(key);
        std::vector<uint64_t> out(ids.size());
        table.add(ids.data(), ids.size(), out.data());
        std::vector<uint32_t> order(ids.size()), rank(ids.size());
        table.rank(order.data(), rank.data(), 2);
        std::vector<int64_t> result;
        for (uint32_t id : order) result.push_back(table.keys().at(id));
        return result;
    };
    CHECK(ordered(raw, 1) == ordered(turned, 1));
    CHECK(ordered(raw, 1) != ordered(raw, 2));
    CHECK(ordered(raw, 1) != raw);
}

// Recorded values: the hashes are part of the dataset format.
void hashes_stay() {
    CHECK(hash_int(0, 0) == 0);
    CHECK(hash_int(12345, 678) == 10499375586849099843ULL);
    CHECK(hash_bytes("", 0, 678) == 8066897679147833053ULL);
    CHECK(hash_bytes("abcdefgh", 8, 678) == 11800551233449570139ULL);
    CHECK(hash_bytes("abcdefghi", 9, 678) == 9953239201729312446ULL);
    CHECK(hash_edge(1, 2, 3, 678) == 3137131737344370938ULL);
}

}  // namespace

int main() {
    ints();
    strings();
    order_depends_on_key_only();
    hashes_stay();
}
