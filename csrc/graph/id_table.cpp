#include "graph/id_table.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "graph/parallel.h"

namespace marius {

template <class Keys>
void IdTable<Keys>::grow() {
    std::vector<uint64_t> slots(slots_.size() * 2, 0);
    const uint64_t mask = slots.size() - 1;
    for (size_t id = 0; id < keys_.size(); ++id) {
        const uint64_t h = hash(keys_.at(id));
        uint64_t place = h & mask;
        while (slots[place]) place = (place + 1) & mask;
        slots[place] = tag(h) | (id + 1);
    }
    slots_.swap(slots);
}

template <class Keys>
uint64_t IdTable<Keys>::find_or_insert(typename Keys::Key raw, uint64_t hash) {
    const uint64_t mask = slots_.size() - 1;
    for (uint64_t place = hash & mask;; place = (place + 1) & mask) {
        uint64_t slot = slots_[place];
        if (!slot) {
            uint64_t id = keys_.size();
            if (id >= kMostIds) throw std::length_error("more than 2^32 - 1 distinct ids in one table");
            keys_.push(raw);
            slots_[place] = tag(hash) | (id + 1);
            return id;
        }
        uint64_t id = (slot & kIdMask) - 1;
        if (tag(slot) == tag(hash) && keys_.at(id) == raw) return id;
    }
}

template <class Keys>
template <class Raw>
void IdTable<Keys>::add(Raw raw, size_t count, uint32_t* out) {
    constexpr size_t kBatch = 64;
    uint64_t hashes[kBatch];
    if (slots_.empty()) throw std::logic_error("the table is closed");
    for (size_t start = 0; start < count; start += kBatch) {
        const size_t n = std::min(kBatch, count - start);
        while ((keys_.size() + n) * 8 > slots_.size() * 5) grow();
        const uint64_t mask = slots_.size() - 1;
        for (size_t i = 0; i < n; ++i) {
            hashes[i] = hash(raw[start + i]);
            __builtin_prefetch(&slots_[hashes[i] & mask]);
        }
        for (size_t i = 0; i < n; ++i) {
            uint64_t slot = slots_[hashes[i] & mask];
            if (slot) keys_.prefetch((slot & kIdMask) - 1);
        }
        for (size_t i = 0; i < n; ++i) out[start + i] = static_cast<uint32_t>(find_or_insert(raw[start + i], hashes[i]));
    }
}

template <class Keys>
void IdTable<Keys>::rank(uint32_t* order, uint32_t* rank, int threads) const {
    struct Entry {
        uint64_t hash, id;
    };
    constexpr int kDigit = 12;
    const size_t count = keys_.size();
    std::unique_ptr<Entry[]> entries(new Entry[count]);
    std::vector<size_t> starts((1 << kDigit) + 1, 0);
    for (size_t id = 0; id < count; ++id) ++starts[(hash(keys_.at(id)) >> (64 - kDigit)) + 1];
    for (size_t d = 0; d < 1 << kDigit; ++d) starts[d + 1] += starts[d];
    std::vector<size_t> next(starts.begin(), starts.end() - 1);
    for (size_t id = 0; id < count; ++id) {
        const uint64_t h = hash(keys_.at(id));
        entries[next[h >> (64 - kDigit)]++] = {h, id};
    }
    parallel_tasks(1 << kDigit, threads, [&](size_t digit) {
        std::sort(entries.get() + starts[digit], entries.get() + starts[digit + 1], [&](const Entry& a, const Entry& b) {
            return a.hash != b.hash ? a.hash < b.hash : keys_.at(a.id) < keys_.at(b.id);
        });
        for (size_t r = starts[digit]; r < starts[digit + 1]; ++r) {
            order[r] = static_cast<uint32_t>(entries[r].id);
            rank[entries[r].id] = static_cast<uint32_t>(r);
        }
    });
}

template class IdTable<IntKeys>;
template class IdTable<StringKeys>;
template void IdTable<IntKeys>::add(const int64_t*, size_t, uint32_t*);
template void IdTable<StringKeys>::add(ArrowStrings, size_t, uint32_t*);

}  // namespace marius
