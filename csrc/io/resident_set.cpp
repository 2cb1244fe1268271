#include "io/resident_set.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace marius {
namespace {

using State = PartitionState;

void require(bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
}

std::size_t positive(int count, const std::string& what) {
    require(count > 0, what + ": found " + std::to_string(count) + ", must be positive");
    return static_cast<std::size_t>(count);
}

bool usable_in(State state) { return state == State::resident || state == State::dirty; }

}  // namespace

ResidentSet::ResidentSet(int partitions, int slots)
    : partitions_(positive(partitions, "partitions")), slots_(positive(slots, "slots")) {
    for (int slot = slots; slot-- > 0;) free_slots_.push_back(slot);
}

Transfers ResidentSet::enter(const PartitionList& now, const PartitionList& next) {
    require(now.size() <= slots_,
            "enter: " + std::to_string(now.size()) + " partitions do not fit in " + std::to_string(slots_) + " slots");
    PartitionList order = now;
    order.insert(order.end(), next.begin(), next.end());
    marked(order);

    // Of the next ones those in memory come first: else they could leave and be loaded again.
    std::stable_partition(order.begin() + static_cast<std::ptrdiff_t>(now.size()), order.end(),
                          [this](std::int64_t k) { return at(k).slot >= 0; });
    order.resize(std::min(order.size(), slots_));
    const std::vector<bool> wanted = marked(order);
    for (std::size_t k = 0; k < partitions_.size(); ++k) partitions_[k].wanted = wanted[k];
    waiting_.clear();
    Transfers started;
    let_go_unwanted(started);
    for (const std::int64_t k : order)
        if (at(k).state == State::on_disk) waiting_.push_back(k);
    load_waiting(started);
    return started;
}

Transfers ResidentSet::make_way(std::int64_t partition) {
    at(partition);
    std::erase(waiting_, partition);
    Transfers started;
    let_go_unwanted(started);  // a write that failed before is tried again
    return started;
}

int ResidentSet::adopt(std::int64_t k) {
    Partition& partition = at(k);
    require(partition.state == State::on_disk, "adopt: partition " + std::to_string(k) + " is " + to_string(partition.state));
    require(slot_is_free(), "adopt: every slot holds a partition that is wanted: call enter without it first");
    move(partition, State::dirty);
    partition.wanted = true;
    return partition.slot = take_slot();
}

void ResidentSet::mark_dirty(const PartitionList& partitions) {
    for (const std::int64_t k : partitions)
        require(usable_in(at(k).state), "mark_dirty: partition " + std::to_string(k) + " is " + to_string(at(k).state));
    for (const std::int64_t k : partitions)
        if (at(k).state == State::resident) move(at(k), State::dirty);
}

Transfers ResidentSet::flush() {
    Transfers started;
    for (std::size_t k = 0; k < partitions_.size(); ++k)
        if (partitions_[k].state == State::dirty) write(static_cast<std::int64_t>(k), started);
    return started;
}

Transfers ResidentSet::loaded(std::int64_t k, bool succeeded) {
    Partition& partition = at(k);
    Transfers started;
    if (succeeded) move(partition, State::resident);
    if (!succeeded || !partition.wanted) release(partition, started);
    return started;
}

Transfers ResidentSet::written(std::int64_t k, bool succeeded) {
    Partition& partition = at(k);
    Transfers started;
    if (!succeeded) move(partition, State::dirty);
    else if (partition.wanted) move(partition, State::resident);
    else release(partition, started);
    return started;
}

bool ResidentSet::usable(const PartitionList& partitions) const {
    return std::all_of(partitions.begin(), partitions.end(), [this](std::int64_t k) { return usable_in(at(k).state); });
}

bool ResidentSet::slot_is_leaving() const {
    return std::any_of(partitions_.begin(), partitions_.end(), [](const Partition& p) { return !p.wanted && moving(p); });
}

const ResidentSet::Partition& ResidentSet::at(std::int64_t k) const {
    require(k >= 0 && static_cast<std::size_t>(k) < partitions_.size(),
            "partition " + std::to_string(k) + " does not exist: the table has " + std::to_string(partitions_.size()));
    return partitions_[static_cast<std::size_t>(k)];
}

ResidentSet::Partition& ResidentSet::at(std::int64_t k) { return const_cast<Partition&>(std::as_const(*this).at(k)); }

// Returns for each partition whether a list names it. Throws when one is named twice or does not exist.
std::vector<bool> ResidentSet::marked(const PartitionList& partitions) const {
    std::vector<bool> result(partitions_.size());
    for (const std::int64_t k : partitions) {
        at(k);
        require(!result[static_cast<std::size_t>(k)], "enter: partition " + std::to_string(k) + " is named twice");
        result[static_cast<std::size_t>(k)] = true;
    }
    return result;
}

void ResidentSet::move(Partition& partition, State to) {
    require_legal(partition.state, to);
    partition.state = to;
}

int ResidentSet::take_slot() {
    const int slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
}

// Unwanted partitions that are being loaded or written leave when that has ended.
void ResidentSet::let_go_unwanted(Transfers& started) {
    for (std::size_t k = 0; k < partitions_.size(); ++k) {
        if (partitions_[k].wanted) continue;
        if (partitions_[k].state == State::resident) release(partitions_[k], started);
        else if (partitions_[k].state == State::dirty) write(static_cast<std::int64_t>(k), started);
    }
}

void ResidentSet::write(std::int64_t k, Transfers& started) {
    move(at(k), State::writing);
    started.writes.push_back(k);
}

void ResidentSet::release(Partition& partition, Transfers& started) {
    move(partition, State::on_disk);
    free_slots_.push_back(std::exchange(partition.slot, -1));
    load_waiting(started);
}

void ResidentSet::load_waiting(Transfers& started) {
    while (slot_is_free() && !waiting_.empty()) {
        const std::int64_t k = waiting_.front();
        waiting_.pop_front();
        move(at(k), State::loading);
        at(k).slot = take_slot();
        started.loads.push_back(k);
    }
}

}  // namespace marius
