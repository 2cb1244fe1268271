// All states of a partition in the buffer, and all legal moves between them.
#pragma once
#include <array>
#include <stdexcept>
#include <string>

namespace marius {

enum class PartitionState { on_disk, loading, resident, dirty, writing };

struct Move {
    PartitionState from, to;
    const char* when;
};

//               ---1-->           ---2-->
//      on_disk           loading            resident
//       ^ ^ |   <--3---                      | ^ |
//       | | |                                | | |
//       | | +--------4-----> dirty <----5----+ | |
//       | |                  |   ^             | |
//       | |                  6   9             | |
//       | |                  v   |             | |
//       | +-------8-------- writing ----7------+ |
//       +-------------------10-------------------+
//
// A partition has a slot in every state but on_disk. Its rows may be read when it is resident, dirty or writing, and
// changed when it is resident or dirty.
inline constexpr std::array<Move, 10> kMoves{{
    {PartitionState::on_disk, PartitionState::loading, "1 wanted, and a slot is free: the slot is taken, the read starts"},
    {PartitionState::loading, PartitionState::resident, "2 the whole file is in the slot and its checksum is right"},
    {PartitionState::loading, PartitionState::on_disk, "3 the read failed or was cancelled: the slot is free again"},
    {PartitionState::on_disk, PartitionState::dirty, "4 adopted: a slot is taken and zeroed, nothing is read"},
    {PartitionState::resident, PartitionState::dirty, "5 the trainer says that it changed rows"},
    {PartitionState::dirty, PartitionState::writing, "6 evicted or flushed: the write starts"},
    {PartitionState::writing, PartitionState::resident, "7 written, and still wanted or wanted again: kept"},
    {PartitionState::writing, PartitionState::on_disk, "8 written, and not wanted: the slot is free"},
    {PartitionState::writing, PartitionState::dirty, "9 the write failed: the data stay in memory"},
    {PartitionState::resident, PartitionState::on_disk, "10 evicted unchanged: the slot is free"},
}};

constexpr bool is_legal(PartitionState from, PartitionState to) {
    for (const Move& move : kMoves)
        if (move.from == from && move.to == to) return true;
    return false;
}

inline std::string to_string(PartitionState state) {
    constexpr std::array<const char*, 5> names{"on_disk", "loading", "resident", "dirty", "writing"};
    return names[static_cast<std::size_t>(state)];
}

/// Throws std::logic_error for a move that is not in the table, which is a mistake of this program.
inline void require_legal(PartitionState from, PartitionState to) {
    if (!is_legal(from, to)) throw std::logic_error("partition moves from " + to_string(from) + " to " + to_string(to));
}

}  // namespace marius
