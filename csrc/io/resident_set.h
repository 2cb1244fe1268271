// Decides which partitions are in the slots of a buffer, and what is loaded and written for that. It reads and writes nothing.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "io/partition_state.h"

namespace marius {

using PartitionList = std::vector<std::int64_t>;

/// The transfers that one decision starts: first partitions to write from their slots, then partitions to load into theirs.
struct Transfers {
    PartitionList writes, loads;
};

/// The slots of a buffer and the partitions in them. Its owner carries out the transfers that the calls return. It calls
/// `loaded` or `written` when one has ended, which may start others.
///
/// A partition is *wanted* if the last `enter` named it. A partition that is not wanted leaves: at once if it is unchanged,
/// after its write if it is dirty. A free slot goes to the next wanted partition that waits for one: first those needed
/// now, then those needed next. partition_state.h has the states of a partition and the moves between them.
///
/// PartitionBuffer owns one and does real I/O; DryBuffer owns one and only counts. Not for several threads at once.
class ResidentSet {
public:
    /// Throws std::invalid_argument unless both are positive.
    ResidentSet(int partitions, int slots);

    /// Makes `now` wanted, and as many of `next` as fit, and nothing else. Throws std::invalid_argument, before anything
    /// changes, when `now` has more partitions than there are slots, or a partition does not exist or is named twice.
    Transfers enter(const PartitionList& now, const PartitionList& next);
    /// Prepares `adopt` of a partition: it is not loaded any more, and what is not wanted leaves.
    Transfers make_way(std::int64_t partition);
    /// Puts a partition that is on disk into a free slot, without a load: it is then dirty and wanted. Returns the slot. Throws
    /// std::invalid_argument when it is not on disk or no slot is free.
    int adopt(std::int64_t partition);
    /// Makes partitions dirty. Throws std::invalid_argument unless all are resident or dirty.
    void mark_dirty(const PartitionList& partitions);
    /// Writes every dirty partition. What is wanted stays resident.
    Transfers flush();
    /// Notes that a partition's load has ended. If it failed, the partition is on disk again.
    Transfers loaded(std::int64_t partition, bool succeeded);
    /// Notes that a partition's write has ended. If it failed, the partition is dirty again.
    Transfers written(std::int64_t partition, bool succeeded);
    /// Forgets the partitions that wait for a slot: none of them is loaded.
    void stop_loading() { waiting_.clear(); }

    /// Returns the state of a partition. Throws std::invalid_argument when it does not exist.
    PartitionState state(std::int64_t partition) const { return at(partition).state; }
    /// Returns the slot of a partition, -1 where it is on disk. Throws std::invalid_argument when it does not exist.
    int slot(std::int64_t partition) const { return at(partition).slot; }
    /// Returns whether the rows of all these partitions may be read and changed.
    bool usable(const PartitionList& partitions) const;
    /// Returns whether a load or a write of the partition is under way.
    bool moving(std::int64_t partition) const { return moving(at(partition)); }
    bool slot_is_free() const { return !free_slots_.empty(); }
    /// Returns whether a slot may become free without another call, because a partition that is not wanted is moving.
    bool slot_is_leaving() const;

private:
    struct Partition {
        PartitionState state = PartitionState::on_disk;
        int slot = -1;
        bool wanted = false;
    };
    static bool moving(const Partition& p) { return p.state == PartitionState::loading || p.state == PartitionState::writing; }

    Partition& at(std::int64_t partition);
    const Partition& at(std::int64_t partition) const;
    std::vector<bool> marked(const PartitionList& partitions) const;
    void move(Partition& partition, PartitionState to);
    int take_slot();
    void let_go_unwanted(Transfers& started);
    void write(std::int64_t partition, Transfers& started);
    void release(Partition& partition, Transfers& started);
    void load_waiting(Transfers& started);

    std::vector<Partition> partitions_;
    std::vector<int> free_slots_;
    std::deque<std::int64_t> waiting_;  // wanted partitions on disk, in the order in which they get slots
    std::size_t slots_;
};

}  // namespace marius
