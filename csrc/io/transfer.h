// Moves files between disk and memory, in parts of 1 MiB on several threads.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "io/pool.h"

namespace marius {

inline constexpr std::size_t kRequest = kMiB;

/// How a transfer ended. `checksum` is the CRC-32C of the bytes asked for; `bytes` counts what moved between disk
/// and memory: whole blocks when direct.
struct Moved {
    std::exception_ptr error;
    std::uint32_t checksum = 0;
    std::uint64_t bytes = 0;
};

/// Called once, by a thread of the pool, when the whole transfer has ended.
using Done = std::function<void(const Moved&)>;

struct ReadRequest {
    std::string path;
    std::byte* memory;
    std::size_t length;
    std::uint64_t offset = 0;
    bool direct = true;
    bool padded = false;                           // memory has room for whole blocks, so that the last one needs no copy
    bool whole = false;                            // the file must hold exactly offset + length bytes
    bool checksum = false;                         // compute Moved::checksum
    const std::atomic<bool>* cancelled = nullptr;  // once it is true, parts that have not begun are skipped
};

struct WriteRequest {
    std::string path;
    const std::byte* memory;
    std::size_t length;
    std::uint64_t offset = 0;  // with in_place: a multiple of kBlock
    bool direct = true;
    bool padded = false;
    bool make_folder = false;  // make the file's folder when it is missing
    int finite = 0;            // bytes of a number, see finite.h; refused unless all of them are finite
    bool in_place = false;     // keep the file's bytes before `offset`, and end it after these
};

/// Starts to read bytes [offset, offset + length) of a file. Blocks that are aligned in the file and in memory are read
/// straight into the memory, others through a buffer of the thread. The memory must exist until `done` is called.
/// Errors: IoError; std::runtime_error when the file is too short (`whole`: or too long).
void start_read(IoPool& pool, ReadRequest request, Done done);

/// Starts to write a file: beside it, as `.NAME.tmp` in the same folder, then renamed over it. The checksum is that
/// of the memory; that of each part is taken just before the kernel gets it. Nothing is synced. When anything fails, the
/// temporary file is removed and the earlier file, if any, is left as it was. With `in_place` there is no temporary file, and
/// what was written until then stays. Errors: IoError; std::overflow_error for a number that is not finite.
void start_write(IoPool& pool, WriteRequest request, Done done);

/// Read or write, and return when it is done: more than 16 MiB, or 1 MiB to write, with up to `threads` new threads, else with
/// the caller's. They throw the error.
Moved read_file(ReadRequest request, int threads = 4);
Moved write_file(WriteRequest request, int threads = 4);

}  // namespace marius
