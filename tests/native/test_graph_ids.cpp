// Id tables: one id per distinct key, in order of first sight; ranks are a permutation that the key decides.
#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check.h"
#include "graph/id_table.h"

using namespace marius;

namespace {

// The ids in the order that the table ranks them in; the ranks say the same for any number of threads.
template <class Keys, class Raw>
std::vector<Raw> ranked(const IdTable<Keys>& table) {
    const size_t n = table.size();
    std::vector<uint32_t> order(n), rank(n), again(n), rank_again(n);
    table.rank(order.data(), rank.data(), 3);
    table.rank(again.data(), rank_again.data(), 1);
    CHECK(order == again && rank == rank_again);
    std::vector<Raw> ids;
    for (size_t r = 0; r < n; ++r) {
        CHECK(rank[order[r]] == r);
        ids.emplace_back(table.keys().at(order[r]));
    }
    return ids;
}

// Adds `raw` in pieces; checks the ids against a map, and the ranks against a sort by (hash, raw id).
template <class Keys, class Raw>
void check_table(const std::vector<Raw>& raw, auto add, uint64_t mask) {
    constexpr uint64_t key = 7;
    IdTable<Keys> table(key, mask);
    std::vector<uint32_t> out(raw.size());
    for (size_t at = 0; at < raw.size(); at += 777) add(table, at, std::min<size_t>(777, raw.size() - at), out.data() + at);
    std::unordered_map<Raw, uint32_t> expected;
    for (size_t i = 0; i < raw.size(); ++i) {
        CHECK(expected.emplace(raw[i], static_cast<uint32_t>(expected.size())).first->second == out[i]);
        CHECK(Raw(table.keys().at(out[i])) == raw[i]);
    }
    CHECK(table.size() == expected.size());
    std::vector<Raw> distinct;
    for (const auto& [id, number] : expected) distinct.push_back(id);
    std::sort(distinct.begin(), distinct.end(), [&](const Raw& a, const Raw& b) {
        const uint64_t x = Keys::hash(a, key) & mask, y = Keys::hash(b, key) & mask;
        return x != y ? x < y : a < b;
    });
    CHECK((ranked<Keys, Raw>(table) == distinct));
    const size_t before = table.bytes();
    CHECK(table.peak_bytes() >= before);
    table.close();
    CHECK(table.bytes() < before);
    CHECK((ranked<Keys, Raw>(table) == distinct));
    CHECK_THROWS(add(table, 0, raw.size() ? 1 : 0, out.data()), std::logic_error);
}

void ints(size_t count, uint64_t mask) {
    std::mt19937_64 rng(1);
    std::vector<int64_t> raw(count);
    for (auto& id : raw) id = static_cast<int64_t>(rng() % (1 + count / 3)) * (rng() % 2 ? 1 : 1LL << 40) * (rng() % 5 ? 1 : -1);
    if (count > 2) raw[0] = INT64_MIN, raw[1] = INT64_MAX, raw[2] = -1;
    check_table<IntKeys>(
        raw, [&](auto& table, size_t at, size_t n, uint32_t* out) { table.add(std::as_const(raw).data() + at, n, out); }, mask);
}

void strings(size_t count, uint64_t mask) {
    std::mt19937_64 rng(2);
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(std::string(rng() % 20, 'x') + std::to_string(rng() % (1 + count / 2)));
    names.emplace_back(1 << 16, 'y');
    names.emplace_back("");
    names.emplace_back("\0", 1);
    names.emplace_back("\0\0", 2);
    std::string data;
    std::vector<int32_t> offsets{0};
    for (const auto& name : names) {
        data += name;
        offsets.push_back(static_cast<int32_t>(data.size()));
    }
    check_table<StringKeys>(
        names,
        [&](auto& table, size_t at, size_t n, uint32_t* out) {
            table.add(ArrowStrings{offsets.data() + at, data.data()}, n, out);
        },
        mask);
}

// The order of nodes does not depend on the order in which they were seen, and another key gives another one.
void order_depends_on_key_only() {
    std::vector<int64_t> raw(1000), turned;
    for (size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<int64_t>(i * i);
    turned.assign(raw.rbegin(), raw.rend());
    auto ordered = [](const std::vector<int64_t>& ids, uint64_t key) {
        IdTable<IntKeys> table(key);
        std::vector<uint32_t> out(ids.size());
        table.add(ids.data(), ids.size(), out.data());
        return ranked<IntKeys, int64_t>(table);
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
    ints(100'000, ~0ULL);
    strings(10'000, ~0ULL);
    for (uint64_t mask : {0xffULL << 56, 0xffULL, 0ULL}) {
        ints(3000, mask);
        strings(2000, mask);
    }
    ints(0, ~0ULL);
    order_depends_on_key_only();
    hashes_stay();
}
