// Finds out what a partition buffer would load and write, without memory and without files.
#pragma once
#include <cstdint>
#include <utility>

#include "io/resident_set.h"

namespace marius {

/// Takes the calls of PartitionBuffer and decides as it does, but each transfer ends as soon as it starts. A real buffer
/// loads as much if its transfers keep up. It loads less where a partition is wanted again while it is still being written.
class DryBuffer {
public:
    /// Throws std::invalid_argument unless both are positive.
    DryBuffer(int partitions, int slots) : resident_(partitions, slots) {}

    void enter(const PartitionList& now, const PartitionList& next) { end(resident_.enter(now, next)); }
    void adopt(std::int64_t partition) {
        end(resident_.make_way(partition));
        resident_.adopt(partition);
    }
    void mark_dirty(const PartitionList& partitions) { resident_.mark_dirty(partitions); }
    void flush() { end(resident_.flush()); }

    /// Returns what was loaded and written since the last call, in order.
    Transfers moved() { return std::exchange(moved_, {}); }

private:
    void end(const Transfers& started);

    ResidentSet resident_;
    Transfers moved_;
};

}  // namespace marius
