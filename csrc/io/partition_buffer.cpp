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

double seconds_now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

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
    require(shape.finite == 0 || shape.finite == 2 || shape.finite == 4,
            "finite: found numbers of " + std::to_string(shape.finite) + " bytes, must be 0, 2 or 4");
    const std::uint64_t most = std::numeric_limits<std::int64_t>::max() / 2;
    require(round_up(shape.rows, kRowStep) <= most / shape.stride / static_cast<std::uint64_t>(shape.slots),
            "the slots are larger than any memory: use fewer slots or more partitions");
    return shape;
}

bool in_memory(State state) { return state != State::on_disk && state != State::loading; }

}  // namespace

PartitionBuffer::PartitionBuffer(BufferShape shape, int threads, bool direct)
    : shape_(checked(std::move(shape))), slot_rows_(round_up(shape_.rows, kRowStep)),
      direct_(direct && supports_direct(shape_.directory)),
      memory_(std::make_shared<HugeMemory>(static_cast<std::size_t>(shape_.slots) * slot_rows_ * shape_.stride)),
      resident_(shape_.partitions, shape_.slots), checksums_(static_cast<std::size_t>(shape_.partitions)),
      begun_(static_cast<std::size_t>(shape_.partitions)), pool_(std::make_unique<IoPool>(threads)) {}

PartitionBuffer::~PartitionBuffer() {
    try {
        close();
    } catch (...) {  // a destructor cannot report it
    }
}

void PartitionBuffer::enter(const PartitionList& now, const PartitionList& next) {
    std::unique_lock lock(mutex_);
    check_usable();
    throw_error();
    start(resident_.enter(now, next));
    wait(lock, [&] { return error_ || resident_.usable(now); });
    throw_error();
}

int PartitionBuffer::adopt(std::int64_t k) {
    std::unique_lock lock(mutex_);
    check_usable();
    throw_error();
    start(resident_.make_way(k));
    wait(lock, [&] { return error_ || !resident_.moving(k); });
    throw_error();
    wait(lock, [&] { return error_ || resident_.slot_is_free() || !resident_.slot_is_leaving(); });
    throw_error();
    const int slot = resident_.adopt(k);
    lock.unlock();  // the slot is this partition's now
    std::memset(slot_memory(slot), 0, slot_rows_ * shape_.stride);
    return slot;
}

void PartitionBuffer::mark_dirty(const PartitionList& partitions) {
    std::lock_guard lock(mutex_);
    check_usable();
    resident_.mark_dirty(partitions);
}

void PartitionBuffer::flush() {
    std::unique_lock lock(mutex_);
    check_usable();
    throw_error();
    start(resident_.flush());
    wait(lock, [this] { return writing_.count == 0; });
    throw_error();
}

void PartitionBuffer::await_writes() {
    std::unique_lock lock(mutex_);
    check_usable();
    wait(lock, [this] { return writing_.count == 0; });
    throw_error();
}

void PartitionBuffer::close() {
    std::unique_lock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    give_up_loads_ = true;
    resident_.stop_loading();
    changed_.wait(lock, [this] { return writing_.count == 0 && loading_.count == 0; });
    lock.unlock();
    pool_.reset();  // the last thread may still be on its way out of a report
    memory_.reset();
    lock.lock();
    throw_error();
}

int PartitionBuffer::slot(std::int64_t k) const {
    std::lock_guard lock(mutex_);
    require(in_memory(resident_.state(k)),
            "slot: partition " + std::to_string(k) + " is " + to_string(resident_.state(k)) + ", not in memory");
    return resident_.slot(k);
}

PartitionState PartitionBuffer::state(std::int64_t k) const {
    std::lock_guard lock(mutex_);
    return resident_.state(k);
}

std::map<std::int64_t, std::uint32_t> PartitionBuffer::checksums() const {
    std::lock_guard lock(mutex_);
    std::map<std::int64_t, std::uint32_t> result;
    for (std::size_t k = 0; k < checksums_.size(); ++k)
        if (checksums_[k]) result[static_cast<std::int64_t>(k)] = *checksums_[k];
    return result;
}

void PartitionBuffer::expect(const std::map<std::int64_t, std::uint32_t>& checksums) {
    std::lock_guard lock(mutex_);
    for (const auto& [k, expected] : checksums) resident_.state(k);  // throws where there is no such partition
    for (const auto& [k, expected] : checksums) checksum(k) = expected;
}

BufferCounters PartitionBuffer::counters() const {
    std::lock_guard lock(mutex_);
    return counters_;
}

std::vector<PastTransfer> PartitionBuffer::take_past() {
    std::lock_guard lock(mutex_);
    return std::exchange(past_, {});
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

void PartitionBuffer::start(const Transfers& transfers) {
    for (const std::int64_t k : transfers.writes) write(k);
    for (const std::int64_t k : transfers.loads) load(k);
}

void PartitionBuffer::load(std::int64_t k) {
    loading_.begin();
    begun_[static_cast<std::size_t>(k)] = seconds_now();
    start_read(*pool_,
               {.path = path(k),
                .memory = slot_memory(resident_.slot(k)),
                .length = shape_.rows * shape_.stride,
                .direct = direct_,
                .padded = true,
                .whole = true,
                .checksum = checksum(k).has_value(),
                .cancelled = &give_up_loads_},
               [this, k, expected = checksum(k)](const Moved& moved) { loaded(k, expected, moved); });
}

void PartitionBuffer::write(std::int64_t k) {
    writing_.begin();
    begun_[static_cast<std::size_t>(k)] = seconds_now();
    start_write(*pool_,
                {.path = path(k),
                 .memory = slot_memory(resident_.slot(k)),
                 .length = shape_.rows * shape_.stride,
                 .direct = direct_,
                 .padded = true,
                 .make_folder = true,
                 .finite = shape_.finite},
                [this, k](const Moved& moved) { written(k, moved); });
}

void PartitionBuffer::loaded(std::int64_t k, std::optional<std::uint32_t> expected, const Moved& moved) {
    std::lock_guard lock(mutex_);
    counters_.read_s += loading_.end();
    note(k, false);
    counters_.bytes_read += moved.bytes;
    std::exception_ptr error = moved.error;
    if (!error && expected && *expected != moved.checksum)
        error = std::make_exception_ptr(std::runtime_error(path(k) + ": the checksum is " + std::to_string(moved.checksum) +
                                                           ", expected " + std::to_string(*expected) +
                                                           ": the file was changed or is damaged"));
    if (!error) ++counters_.loads;
    else if (!closed_ && !error_) error_ = error;
    start(resident_.loaded(k, !error));
    changed_.notify_all();
}

void PartitionBuffer::written(std::int64_t k, const Moved& moved) {
    std::lock_guard lock(mutex_);
    counters_.write_s += writing_.end();
    note(k, true);
    counters_.bytes_written += moved.bytes;
    if (moved.error) {
        if (!error_) error_ = moved.error;
    } else {
        ++counters_.writes;
        checksum(k) = moved.checksum;
    }
    start(resident_.written(k, !moved.error));
    changed_.notify_all();
}

void PartitionBuffer::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready) {
    if (ready()) return;
    const auto start = Clock::now();
    changed_.wait(lock, ready);
    counters_.wait_s += seconds_since(start);
}

void PartitionBuffer::note(std::int64_t k, bool is_write) {
    if (past_.size() < kMostPast) past_.push_back({k, is_write, begun_[static_cast<std::size_t>(k)], seconds_now()});
}

std::string PartitionBuffer::path(std::int64_t k) const { return shape_.directory + "/" + std::to_string(k) + "/0"; }

std::byte* PartitionBuffer::slot_memory(int slot) const {
    return memory_->data() + static_cast<std::size_t>(slot) * slot_rows_ * shape_.stride;
}

}  // namespace marius
