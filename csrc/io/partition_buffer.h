// The partitions of a table that are in memory. They are loaded ahead and written in the background.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/memory.h"
#include "io/pool.h"
#include "io/resident_set.h"
#include "io/transfer.h"

namespace marius {

/// Where the files are and how much of them is in memory.
struct BufferShape {
    std::string directory;  // partition k's file is directory/<k>/0, `rows * stride` bytes
    int partitions = 0;
    std::uint64_t rows = 0;    // of a partition
    std::uint64_t stride = 0;  // bytes of a row, a multiple of 16
    int slots = 0;
    int finite = 0;  // bytes of a number, see finite.h; none is written that is not finite
};

struct BufferCounters {
    std::uint64_t bytes_read = 0, bytes_written = 0;  // moved between disk and memory, whole blocks
    std::uint64_t loads = 0, writes = 0;              // partitions, finished without error
    double read_s = 0, write_s = 0;                   // wall time with at least one load, or write, under way
    double wait_s = 0;                                // wall time that callers waited
};

/// A load or a write that ended. Times are seconds of the steady clock, from a zero of its own.
struct PastTransfer {
    std::int64_t partition = 0;
    bool is_write = false;
    double begin = 0, end = 0;
};

/// Slots of memory for partitions, and the threads that fill and empty them.
///
/// Which partitions are loaded and written, and when, is decided by a ResidentSet (resident_set.h). Each slot moves by
/// itself and nothing waits for all writes, except `flush`.
///
/// A write makes directory/<k>/.0.tmp and renames it to 0, so the file is always the old one or the new one. Nothing is
/// synced: the caller who needs durability syncs after `flush`.
///
/// The first error of background I/O is thrown by the next call of enter, adopt, flush or close. A partition whose write failed
/// is dirty again; the next call that evicts or flushes it writes it again. Every call is possible after an error. Close
/// waits for the writes under way, also when one has failed, and drops what is dirty.
///
/// Threading: one thread at a time calls enter, adopt, mark_dirty, flush and close. slot, state, checksums, expect,
/// counters and take_past may be called by any thread. Rows of a partition that the last `enter` named in `now` (or that was adopted
/// since) may be read and changed by any thread until the next call of enter or flush begins, and again after it
/// returns if the partition is still in `now`. No other memory of the buffer may be changed.
class PartitionBuffer {
public:
    /// Throws std::invalid_argument for an impossible shape, std::system_error when memory is refused.
    PartitionBuffer(BufferShape shape, int threads, bool direct);
    ~PartitionBuffer();
    PartitionBuffer(const PartitionBuffer&) = delete;
    PartitionBuffer& operator=(const PartitionBuffer&) = delete;

    /// Makes `now` resident and returns; loads as many of `next` as fit in the background; lets everything else go.
    /// Throws std::invalid_argument when `now` exceeds the slots or a partition does not exist or is named twice.
    void enter(const PartitionList& now, const PartitionList& next);
    /// Gives a partition that is on disk a zeroed slot without reading its file, dirty and wanted; waits until it has
    /// left and for a slot that another one is leaving. Returns the slot. Throws std::invalid_argument when the
    /// partition stays in memory or no slot will be free.
    int adopt(std::int64_t partition);
    /// The rows of these partitions were changed. Throws std::invalid_argument unless all are resident or dirty.
    void mark_dirty(const PartitionList& partitions);
    /// Writes every dirty partition, waits until no write is under way. What is wanted stays resident.
    void flush();
    /// Waits until no write is under way. What is dirty and stays is not written.
    void await_writes();
    /// Waits for the writes under way, gives up the loads, ends the threads. Calling it again does nothing.
    void close();

    /// The slot of a partition that is in memory. Throws std::invalid_argument when it is not.
    int slot(std::int64_t partition) const;
    PartitionState state(std::int64_t partition) const;
    /// CRC-32C of each partition's file, as last written here or announced by `expect`.
    std::map<std::int64_t, std::uint32_t> checksums() const;
    /// Checksums that the files have now; a load of a file with another one is an error (std::runtime_error).
    void expect(const std::map<std::int64_t, std::uint32_t>& checksums);
    BufferCounters counters() const;
    /// The transfers that ended since the last call, in order; at most kMostPast, the first ones.
    std::vector<PastTransfer> take_past();
    static constexpr std::size_t kMostPast = 1 << 16;

    const BufferShape& shape() const { return shape_; }
    /// Rows from one slot to the next: `rows` rounded up so that a slot is whole blocks for any stride.
    std::uint64_t slot_rows() const { return slot_rows_; }
    /// Whether files are read and written past the page cache.
    bool direct() const { return direct_; }
    /// The slots, (slots * slot_rows, stride) bytes. The memory exists as long as the pointer, also after `close`.
    const std::shared_ptr<HugeMemory>& memory() const { return memory_; }

private:
    // Measures the wall time during which at least one transfer of a kind is under way.
    struct UnderWay {
        int count = 0;
        std::chrono::steady_clock::time_point since;
        void begin();
        double end();  // seconds to add to the total: zero while others go on
    };

    // Everything below is called with mutex_ locked.
    void check_usable();
    void throw_error();
    void start(const Transfers& transfers);
    void load(std::int64_t k);
    void write(std::int64_t k);
    void loaded(std::int64_t k, std::optional<std::uint32_t> expected, const Moved& moved);
    void written(std::int64_t k, const Moved& moved);
    void wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready);
    void note(std::int64_t k, bool is_write);
    std::string path(std::int64_t k) const;
    std::byte* slot_memory(int slot) const;
    std::optional<std::uint32_t>& checksum(std::int64_t k) { return checksums_[static_cast<std::size_t>(k)]; }

    const BufferShape shape_;
    const std::uint64_t slot_rows_;
    const bool direct_;
    std::shared_ptr<HugeMemory> memory_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    ResidentSet resident_;
    std::vector<std::optional<std::uint32_t>> checksums_;  // by partition
    UnderWay loading_, writing_;
    std::exception_ptr error_;
    BufferCounters counters_;
    std::vector<double> begun_;  // by partition: when its last transfer began
    std::vector<PastTransfer> past_;
    bool closed_ = false;
    std::atomic<bool> give_up_loads_ = false;
    std::unique_ptr<IoPool> pool_;  // last: its threads use all of the above
};

}  // namespace marius
