// Which partitions hold the slots of memory, and what is loaded and written for that. Decisions only: nothing is read or written.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "io/partition_state.h"

namespace marius {

using PartitionList = std::vector<std::int64_t>;

/// What one decision starts: partitions to write from their slots, then partitions to load into theirs.
struct Transfers {
    PartitionList writes, loads;
};

/// The slots of a buffer and the partitions in them. Whoever owns it carries out the transfers that its calls return, and
/// says when each has ended, by `loaded` and `written`, which may start others.
///
/// A partition is *wanted* while the last `enter` names it. What is not wanted leaves: at once when unchanged, after
/// its write when dirty. A slot that becomes free goes to the next wanted partition that waits for one, first those
/// needed now, then those needed next. The states of a partition and its moves stand in partition_state.h.
///
/// PartitionBuffer owns one and does real I/O; DryBuffer owns one and only counts. Not for several threads at once.
class ResidentSet {
public:
    /// Throws std::invalid_argument unless both are positive.
    ResidentSet(int partitions, int slots);

    /// Wants `now`, and as many of `next` as fit; lets everything else go. Throws std::invalid_argument, before anything
    /// changes, when `now` exceeds the slots or a partition does not exist or is named twice.
    Transfers enter(const PartitionList& now, const PartitionList& next);
    /// The partition is about to be adopted: it is not loaded, and what is not wanted leaves.
    Transfers make_way(std::int64_t partition);
    /// Gives a partition that is on disk a free slot: it is dirty and wanted. Returns the slot. Throws
    /// std::invalid_argument when it is not on disk or no slot is free.
    int adopt(std::int64_t partition);
    /// Throws std::invalid_argument unless all are resident or dirty.
    void mark_dirty(const PartitionList& partitions);
    /// Every dirty partition is written. What is wanted stays resident.
    Transfers flush();
    /// A partition's load ended. Where it failed, the partition is on disk again.
    Transfers loaded(std::int64_t partition, bool succeeded);
    /// A partition's write ended. Where it failed, the partition is dirty again.
    Transfers written(std::int64_t partition, bool succeeded);
    /// Starts no more loads of the partitions that wait for a slot.
    void stop_loading() { waiting_.clear(); }

    /// The state of a partition. Throws std::invalid_argument when it does not exist.
    PartitionState state(std::int64_t partition) const { return at(partition).state; }
    /// The slot of a partition, -1 where it is on disk. Throws std::invalid_argument when it does not exist.
    int slot(std::int64_t partition) const { return at(partition).slot; }
    /// Whether rows of all these may be read and changed.
    bool usable(const PartitionList& partitions) const;
    /// Whether a load or a write of the partition is under way.
    bool moving(std::int64_t partition) const { return moving(at(partition)); }
    bool slot_is_free() const { return !free_slots_.empty(); }
    /// Whether a slot may become free without another call: a partition that is not wanted is moving.
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
    std::deque<std::int64_t> waiting_;  // wanted partitions on disk, in the order they shall get slots
    std::size_t slots_;
};

}  // namespace marius
