// Numbers raw ids (int64 or byte strings) 0, 1, 2, ... in the order in which they first appear: provisional ids. Then ranks them
// in their final order, (keyed hash of the raw id, raw id): a random permutation that depends on data and key only.
//
// Open addressing over 8-byte slots (24 bits of hash, 40 bits of id + 1; 0 is empty) with linear probing; the keys
// lie beside, in order of id. Lookups run in batches of three passes (hash, probe, compare), each pass prefetching
// what the next one reads. Not safe to share between threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/growing.h"
#include "graph/hash.h"

namespace marius {

struct IntKeys {
    using Key = int64_t;
    Growing<int64_t> values;

    size_t size() const { return values.size(); }
    size_t bytes() const { return values.size() * sizeof(int64_t); }
    Key at(size_t id) const { return values[id]; }
    void push(Key key) { values.push(key); }
    void prefetch(size_t id) const { __builtin_prefetch(values.data() + id); }
    static uint64_t hash(Key id, uint64_t key) { return hash_int(static_cast<uint64_t>(id), key); }
};

struct StringKeys {
    using Key = std::string_view;
    Growing<char> arena;
    Growing<uint64_t> ends;

    size_t size() const { return ends.size(); }
    size_t bytes() const { return arena.size() + ends.size() * sizeof(uint64_t); }
    Key at(size_t id) const {
        uint64_t start = id ? ends[id - 1] : 0;
        return {arena.data() + start, static_cast<size_t>(ends[id] - start)};
    }
    void push(Key key) {
        arena.append(key.data(), key.size());
        ends.push(arena.size());
    }
    void prefetch(size_t id) const { __builtin_prefetch(ends.data() + id); }
    static uint64_t hash(Key id, uint64_t key) { return hash_bytes(id.data(), id.size(), key); }
};

// The strings of an Arrow array: string i is data[offsets[i], offsets[i + 1]).
struct ArrowStrings {
    const int32_t* offsets;
    const char* data;
    std::string_view operator[](size_t i) const { return {data + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])}; }
};

template <class Keys>
class IdTable {
public:
    // `mask`: the bits of the hash that are used; fewer than all make collisions common, for tests.
    explicit IdTable(uint64_t key, uint64_t mask = ~0ULL) : key_(key), mask_(mask), slots_(1024, 0) {}

    size_t size() const { return keys_.size(); }
    size_t bytes() const { return keys_.bytes() + slots_.size() * sizeof(uint64_t); }
    // The most bytes it takes until its ids are ranked, if few more come: growing needs both the old slots and the new, ranking
    // 24 bytes an id.
    size_t peak_bytes() const {
        const size_t slots = slots_.size() * sizeof(uint64_t), more = keys_.size() + keys_.size() / 8 + 1024;
        return keys_.bytes() + std::max(more * 8 > slots_.size() * 5 ? 3 * slots : slots, 24 * keys_.size());
    }
    // Frees the memory that looks ids up: no more ids come.
    void close() { slots_ = std::vector<uint64_t>(); }
    const Keys& keys() const { return keys_; }

    // out[i] = provisional id of raw[i], new ones appended.
    template <class Raw>
    void add(Raw raw, size_t count, uint32_t* out);

    // order[r] = provisional id of the id that comes r-th; rank[order[r]] = r.
    void rank(uint32_t* order, uint32_t* rank, int threads) const;

private:
    static constexpr uint64_t kMostIds = UINT32_MAX, kIdBits = 40, kIdMask = (1ULL << kIdBits) - 1;
    static uint64_t tag(uint64_t hash) { return hash & ~kIdMask; }
    uint64_t find_or_insert(typename Keys::Key raw, uint64_t hash);
    void grow();

    uint64_t hash(typename Keys::Key raw) const { return Keys::hash(raw, key_) & mask_; }

    uint64_t key_, mask_;
    std::vector<uint64_t> slots_;
    Keys keys_;
};

}  // namespace marius
