// Finds where each id of a growing sequence stands first. The hash table is cut into shards. Each thread fills one, and walks
// through the whole sequence for it, so that the result is that of one thread.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace marius {

template <class Id>
class FirstSeen {
public:
    static constexpr size_t kMostPositions = (size_t{1} << 31) - 2;

    explicit FirstSeen(uint32_t base = 1) : base_(base) {}

    // Begins a new sequence. Memory is kept and not cleared: positions count on, so those of earlier sequences are below base_.
    void begin(int shards) {
        base_ += static_cast<uint32_t>(to_);
        from_ = to_ = 0;
        if (base_ > kMostPositions) {
            shards_.clear();
            base_ = 1;
        }
        shards_.resize(std::max<size_t>(shards_.size(), shards));
        used_shards_ = static_cast<uint64_t>(shards);
        for (Shard& shard : shards_) shard.used = 0;
    }

    int shards() const { return static_cast<int>(used_shards_); }

    // Lets the sequence go on to position `to`, at most kMostPositions. Call `find` for every shard next.
    void extend(size_t to) {
        from_ = to_;
        to_ = to;
    }

    // first[x] = the least y with ids[y] == ids[x], for the new positions x that belong to `shard`. Shards may be filled at
    // the same time.
    void find(uint64_t shard, const Id* ids, uint32_t* first) {
        constexpr size_t kBlock = 256;
        uint32_t mine[kBlock];
        Shard& table = shards_[shard];
        for (size_t low = from_; low < to_; low += kBlock) {
            const size_t high = std::min(low + kBlock, to_);
            size_t count = 0;
            for (size_t x = low; x < high; ++x) {
                mine[count] = static_cast<uint32_t>(x);
                count += (hash(ids[x]) >> 32) * used_shards_ >> 32 == shard;
            }
            if (2 * (table.used + count) > table.slots.size()) grow(table, count);
            const size_t mask = table.slots.size() - 1;
            for (size_t i = 0; i < count; ++i) __builtin_prefetch(&table.slots[place(ids[mine[i]]) & mask], 1);
            for (size_t i = 0; i < count; ++i) {
                const uint32_t x = mine[i];
                const Id id = ids[x];
                size_t at = place(id) & mask;
                while (table.slots[at].position >= base_ && table.slots[at].id != id) at = (at + 1) & mask;
                Slot& slot = table.slots[at];
                const bool fresh = slot.position < base_;
                slot = {id, fresh ? base_ + x : slot.position};
                first[x] = slot.position - base_;
                table.used += fresh;
            }
        }
    }

private:
    struct Slot {
        Id id;
        uint32_t position;  // counted on from sequence to sequence: empty or left over where it is below base_
    };
    struct Shard {
        std::vector<Slot> slots;
        size_t used = 0;
    };

    static uint64_t hash(uint64_t id) { return id * 0x9e3779b97f4a7c15ULL; }
    static size_t place(uint64_t id) { return hash(id) >> 20; }  // other bits than those that choose the shard

    void grow(Shard& table, size_t more) {
        size_t size = std::max<size_t>(1024, table.slots.size());
        while (2 * (table.used + more) > size) size *= 2;
        std::vector<Slot> old(size, Slot{});
        old.swap(table.slots);
        for (const Slot& slot : old) {
            if (slot.position < base_) continue;
            size_t at = place(slot.id) & (size - 1);
            while (table.slots[at].position >= base_) at = (at + 1) & (size - 1);
            table.slots[at] = slot;
        }
    }

    std::vector<Shard> shards_;
    uint64_t used_shards_ = 1;
    uint32_t base_;
    size_t from_ = 0, to_ = 0;
};

}  // namespace marius
