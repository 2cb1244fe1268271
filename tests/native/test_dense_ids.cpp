// Integers as a bitmap: what was marked comes back, once each, by stretches of hashes.
#include <algorithm>
#include <set>
#include <vector>

#include "check.h"
#include "graph/dense_ids.h"

using namespace marius;

namespace {

constexpr uint64_t kBound = 1 << 20, kKey = 5;

void marked_ids_come_back_by_their_hashes() {
    std::vector<uint64_t> bitmap(kBound / 64), empty(10);
    std::set<uint64_t> expected;
    for (uint64_t turn = 0; turn < 3; ++turn) {
        std::vector<int64_t> ids;
        for (uint64_t i = 0; i < 5000; ++i) ids.push_back(static_cast<int64_t>(i * i * 31 % (kBound - turn)));
        ids.push_back(0), ids.push_back(kBound - 1);
        std::vector<uint32_t> out(ids.size());
        CHECK(mark_ids(ids.data(), ids.size(), kBound, bitmap.data(), out.data()));
        for (size_t i = 0; i < ids.size(); ++i) CHECK(out[i] == static_cast<uint64_t>(ids[i]));
        for (int64_t id : ids) expected.insert(hash_int(static_cast<uint64_t>(id), kKey));
    }
    for (uint64_t stretches : {1, 2, 7}) {
        std::multiset<uint64_t> found;
        for (uint64_t s = 0, first = 0; s < stretches; ++s) {
            const uint64_t last = s + 1 == stretches ? ~0ULL : ~0ULL / stretches * (s + 1);
            const size_t count = hashes_of_marked(bitmap.data(), bitmap.size(), kKey, first, last, nullptr, 0);
            std::vector<uint64_t> hashes(count + 1, 1234);
            CHECK(hashes_of_marked(bitmap.data(), bitmap.size(), kKey, first, last, hashes.data(), count) == count);
            CHECK(hashes.back() == 1234);  // never more than there is room for
            CHECK(hashes_of_marked(bitmap.data(), bitmap.size(), kKey, first, last, hashes.data(), count / 2) == count);
            for (size_t i = 0; i < count; ++i) CHECK(hashes[i] >= first && hashes[i] <= last);
            found.insert(hashes.begin(), hashes.end() - 1);
            first = last + 1;
        }
        CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
    }
    for (uint64_t hash : expected) CHECK(bitmap[unhash_int(hash, kKey) >> 6] >> (unhash_int(hash, kKey) & 63) & 1);
    CHECK(hashes_of_marked(empty.data(), empty.size(), kKey, 0, ~0ULL, nullptr, 0) == 0);
}

void an_id_beyond_the_bound_marks_nothing() {
    for (int64_t wrong : {int64_t{64}, int64_t{-1}, INT64_MIN, INT64_MAX, int64_t{1} << 32}) {
        std::vector<uint64_t> bitmap(1);
        std::vector<int64_t> ids{3, wrong, 5};
        std::vector<uint32_t> out(3, 99);
        CHECK(!mark_ids(ids.data(), ids.size(), 64, bitmap.data(), out.data()));
        CHECK(bitmap[0] == 0 && (out == std::vector<uint32_t>(3, 99)));
    }
    CHECK(mark_ids(nullptr, 0, 64, nullptr, nullptr));
}

void unhash_turns_hash_around() {
    for (uint64_t key : {0ULL, 1ULL, ~0ULL, 0x123456789abcdefULL})
        for (uint64_t id : {0ULL, 1ULL, 77ULL, 1ULL << 32, ~0ULL, 1ULL << 63}) CHECK(unhash_int(hash_int(id, key), key) == id);
}

}  // namespace

int main() {
    marked_ids_come_back_by_their_hashes();
    an_id_beyond_the_bound_marks_nothing();
    unhash_turns_hash_around();
}
