#include "io/partition_buffer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/bytes.h"
#include "io/file.h"

namespace marius {
namespace {

using State = PartitionState;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void require(bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
}

// 256 rows of any stride that is a multiple of 16 bytes are whole blocks.
constexpr std::uint64_t kRowStep = kBlock / 16;

BufferShape checked(BufferShape shape) {
    require(shape.partitions > 0 && shape.rows > 0 && shape.slots > 0,
            "partitions, rows and slots: found " + std::to_string(shape.partitions) + ", " + std::to_string(shape.rows) +
                " and " + std::to_string(shape.slots) + ", all must be positive");
    require(shape.stride > 0 && shape.stride % 16 == 0,
            "stride: found " + std::to_string(shape.stride) + " bytes, must be a positive multiple of 16");
    const std::uint64_t most = std::numeric_limits<std::int64_t>::max() / 2;
    require(round_up(shape.rows, kRowStep) <= most / shape.stride / static_cast<std::uint64_t>(shape.slots),
            "the slots are larger than any memory: use fewer slots or more partitions");
    return shape;
}

bool in_memory(State state) { return state != State::on_disk && state != State::loading; }
bool usable(State state) { return state == State::resident || state == State::dirty; }

}  // namespace

PartitionBuffer::PartitionBuffer(BufferShape shape, int threads, bool direct)
    : shape_(checked(std::move(shape))), slot_rows_(round_up(shape_.rows, kRowStep)),
      direct_(direct && supports_direct(shape_.directory)),
      memory_(std::make_shared<HugeMemory>(static_cast<std::size_t>(shape_.slots) * slot_rows_ * shape_.stride)),
      partitions_(static_cast<std::size_t>(shape_.partitions)), pool_(std::make_unique<IoPool>(threads)) {
    for (int slot = shape_.slots; slot-- > 0;) free_slots_.push_back(slot);
}

PartitionBuffer::~PartitionBuffer() {
    try {
        close();
    } catch (...) {  // a destructor cannot report it
    }
}

void PartitionBuffer::enter(const std::vector<std::int64_t>& now, const std::vector<std::int64_t>& next) {
    std::unique_lock lock(mutex_);
    check_usable();
    const std::size_t slots = static_cast<std::size_t>(shape_.slots);
    require(now.size() <= slots,
            "enter: " + std::to_string(now.size()) + " partitions do not fit in " + std::to_string(shape_.slots) + " slots");
    std::vector<std::int64_t> order = now;
    order.insert(order.end(), next.begin(), next.end());
    marked(order);
    throw_error();

    // Partitions in memory come first among the next ones, so that they are not loaded twice.
    std::stable_partition(order.begin() + static_cast<std::ptrdiff_t>(now.size()), order.end(),
                          [this](std::int64_t k) { return at(k).slot >= 0; });
    order.resize(std::min(order.size(), slots));
    const std::vector<bool> wanted = marked(order);
    waiting_.clear();
    for (std::int64_t k = 0; k < shape_.partitions; ++k) {
        at(k).wanted = wanted[static_cast<std::size_t>(k)];
        if (!at(k).wanted) let_go(k);
    }
    for (const std::int64_t k : order)
        if (at(k).state == State::on_disk) waiting_.push_back(k);
    load_waiting();
    wait(lock,
         [&] { return error_ || std::all_of(now.begin(), now.end(), [this](std::int64_t k) { return usable(at(k).state); }); });
    throw_error();
}

int PartitionBuffer::adopt(std::int64_t k) {
    std::unique_lock lock(mutex_);
    check_usable();
    throw_error();
    Partition& partition = at(k);
    std::erase(waiting_, k);
    for (std::int64_t other = 0; other < shape_.partitions; ++other)
        if (!at(other).wanted) let_go(other);  // a write that failed before is tried again
    wait(lock, [&] { return error_ || !moving(partition); });
    throw_error();
    require(partition.state == State::on_disk, "adopt: partition " + std::to_string(k) + " is " + to_string(partition.state));
    const auto leaving = [](const Partition& p) { return !p.wanted && moving(p); };
    wait(lock, [&] { return error_ || !free_slots_.empty() || std::none_of(partitions_.begin(), partitions_.end(), leaving); });
    throw_error();
    require(!free_slots_.empty(), "adopt: every slot holds a partition that is wanted: call enter without it first");
    partition.slot = free_slots_.back();
    free_slots_.pop_back();
    partition.wanted = true;
    move(partition, State::dirty);
    const int slot = partition.slot;
    lock.unlock();  // the slot is this partition's now
    std::memset(slot_memory(slot), 0, slot_rows_ * shape_.stride);
    return slot;
}

void PartitionBuffer::mark_dirty(const std::vector<std::int64_t>& partitions) {
    std::lock_guard lock(mutex_);
    check_usable();
    for (const std::int64_t k : partitions)
        require(usable(at(k).state), "mark_dirty: partition " + std::to_string(k) + " is " + to_string(at(k).state));
    for (const std::int64_t k : partitions)
        if (at(k).state == State::resident) move(at(k), State::dirty);
}

void PartitionBuffer::flush() {
    std::unique_lock lock(mutex_);
    check_usable();
    throw_error();
    for (std::int64_t k = 0; k < shape_.partitions; ++k)
        if (at(k).state == State::dirty) write(k);
    wait(lock, [this] { return writing_.count == 0; });
    throw_error();
}

void PartitionBuffer::close() {
    std::unique_lock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    give_up_loads_ = true;
    waiting_.clear();
    changed_.wait(lock, [this] { return writing_.count == 0 && loading_.count == 0; });
    lock.unlock();
    pool_.reset();  // the last thread may still be on its way out of a report
    memory_.reset();
    lock.lock();
    throw_error();
}

int PartitionBuffer::slot(std::int64_t k) const {
    std::lock_guard lock(mutex_);
    const Partition& partition = at(k);
    require(in_memory(partition.state),
            "slot: partition " + std::to_string(k) + " is " + to_string(partition.state) + ", not in memory");
    return partition.slot;
}

PartitionState PartitionBuffer::state(std::int64_t k) const {
    std::lock_guard lock(mutex_);
    return at(k).state;
}

std::map<std::int64_t, std::uint32_t> PartitionBuffer::checksums() const {
    std::lock_guard lock(mutex_);
    std::map<std::int64_t, std::uint32_t> result;
    for (std::size_t k = 0; k < partitions_.size(); ++k)
        if (partitions_[k].checksum) result[static_cast<std::int64_t>(k)] = *partitions_[k].checksum;
    return result;
}

void PartitionBuffer::expect(const std::map<std::int64_t, std::uint32_t>& checksums) {
    std::lock_guard lock(mutex_);
    for (const auto& [k, checksum] : checksums) at(k);
    for (const auto& [k, checksum] : checksums) at(k).checksum = checksum;
}

BufferCounters PartitionBuffer::counters() const {
    std::lock_guard lock(mutex_);
    return counters_;
}

void PartitionBuffer::UnderWay::begin() {
    if (count++ == 0) since = Clock::now();
}

double PartitionBuffer::UnderWay::end() { return --count == 0 ? seconds_since(since) : 0; }

void PartitionBuffer::check_usable() {
    if (closed_) throw std::runtime_error(shape_.directory + ": the buffer is closed");
}

void PartitionBuffer::throw_error() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

const PartitionBuffer::Partition& PartitionBuffer::at(std::int64_t k) const {
    require(k >= 0 && k < shape_.partitions,
            "partition " + std::to_string(k) + " does not exist: the table has " + std::to_string(shape_.partitions));
    return partitions_[static_cast<std::size_t>(k)];
}

PartitionBuffer::Partition& PartitionBuffer::at(std::int64_t k) { return const_cast<Partition&>(std::as_const(*this).at(k)); }

// Which partitions a list names. Throws when one is named twice or does not exist.
std::vector<bool> PartitionBuffer::marked(const std::vector<std::int64_t>& partitions) const {
    std::vector<bool> result(partitions_.size());
    for (const std::int64_t k : partitions) {
        at(k);
        require(!result[static_cast<std::size_t>(k)], "enter: partition " + std::to_string(k) + " is named twice");
        result[static_cast<std::size_t>(k)] = true;
    }
    return result;
}

void PartitionBuffer::move(Partition& partition, State to) {
    require_legal(partition.state, to);
    partition.state = to;
}

void PartitionBuffer::release(Partition& partition) {
    move(partition, State::on_disk);
    free_slots_.push_back(std::exchange(partition.slot, -1));
    load_waiting();
}

// Lets an unwanted partition leave. One that is loading or writing leaves when its transfer ends.
void PartitionBuffer::let_go(std::int64_t k) {
    if (at(k).state == State::resident) release(at(k));
    else if (at(k).state == State::dirty) write(k);
}

void PartitionBuffer::load_waiting() {
    while (!free_slots_.empty() && !waiting_.empty()) {
        const std::int64_t k = waiting_.front();
        waiting_.pop_front();
        load(k);
    }
}

void PartitionBuffer::load(std::int64_t k) {
    Partition& partition = at(k);
    move(partition, State::loading);
    partition.slot = free_slots_.back();
    free_slots_.pop_back();
    loading_.begin();
    start_read(*pool_,
               {.path = path(k),
                .memory = slot_memory(partition.slot),
                .length = shape_.rows * shape_.stride,
                .direct = direct_,
                .padded = true,
                .whole = true,
                .checksum = partition.checksum.has_value(),
                .cancelled = &give_up_loads_},
               [this, k, expected = partition.checksum](const Moved& moved) { loaded(k, expected, moved); });
}

void PartitionBuffer::write(std::int64_t k) {
    Partition& partition = at(k);
    move(partition, State::writing);
    writing_.begin();
    start_write(*pool_,
                {.path = path(k),
                 .memory = slot_memory(partition.slot),
                 .length = shape_.rows * shape_.stride,
                 .direct = direct_,
                 .padded = true,
                 .make_folder = true,
                 .finite = shape_.finite},
                [this, k](const Moved& moved) { written(k, moved); });
}

void PartitionBuffer::loaded(std::int64_t k, std::optional<std::uint32_t> expected, const Moved& moved) {
    std::lock_guard lock(mutex_);
    Partition& partition = at(k);
    counters_.read_s += loading_.end();
    counters_.bytes_read += moved.bytes;
    std::exception_ptr error = moved.error;
    if (!error && expected && *expected != moved.checksum)
        error = std::make_exception_ptr(std::runtime_error(path(k) + ": the checksum is " + std::to_string(moved.checksum) +
                                                           ", expected " + std::to_string(*expected) +
                                                           ": the file was changed or is damaged"));
    if (!error) {
        ++counters_.loads;
        move(partition, State::resident);
    } else if (!closed_ && !error_) {
        error_ = error;
    }
    if (error || !partition.wanted) release(partition);
    changed_.notify_all();
}

void PartitionBuffer::written(std::int64_t k, const Moved& moved) {
    std::lock_guard lock(mutex_);
    Partition& partition = at(k);
    counters_.write_s += writing_.end();
    counters_.bytes_written += moved.bytes;
    if (moved.error) {
        if (!error_) error_ = moved.error;
        move(partition, State::dirty);
    } else {
        ++counters_.writes;
        partition.checksum = moved.checksum;
        if (partition.wanted) move(partition, State::resident);
        else release(partition);
    }
    changed_.notify_all();
}

void PartitionBuffer::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready) {
    if (ready()) return;
    const auto start = Clock::now();
    changed_.wait(lock, ready);
    counters_.wait_s += seconds_since(start);
}

std::string PartitionBuffer::path(std::int64_t k) const { return shape_.directory + "/" + std::to_string(k) + "/0"; }

std::byte* PartitionBuffer::slot_memory(int slot) const {
    return memory_->data() + static_cast<std::size_t>(slot) * slot_rows_ * shape_.stride;
}

}  // namespace marius
