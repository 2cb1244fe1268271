#include "io/transfer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "io/crc32c.h"
#include "io/file.h"
#include "io/finite.h"

namespace marius {
namespace {

// What the caller's thread reads at once, without a pool: the kernel has all its requests under way together, and new threads
// would cost as much of the processors as the reading, each with a buffer of its own.
constexpr std::size_t kAlone = 16 * kMiB;

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

// One aligned request's worth of memory for each thread that needs it.
thread_local std::unique_ptr<void, Free> bounce;

std::byte* bounce_buffer() {
    if (!bounce) bounce.reset(std::aligned_alloc(kBlock, kRequest));
    if (!bounce) throw std::bad_alloc();
    return static_cast<std::byte*>(bounce.get());
}

// A transfer under way. Its first task opens the file and submits one task for each part of at most `part` bytes; the
// task that ends last finishes the file and reports. After an error parts that have not begun are skipped.
class Transfer : public std::enable_shared_from_this<Transfer> {
public:
    // The range begins at a block; without a pool the caller's thread does it all.
    Transfer(IoPool* pool, IoPool::Kind kind, std::uint64_t begin, std::uint64_t end, std::uint64_t part, Done done)
        : part_(part), parts_((end - begin + part - 1) / part), pool_(pool), kind_(kind), begin_(begin), end_(end),
          done_(std::move(done)), checksums_(parts_) {}
    virtual ~Transfer() = default;

    void start() {
        submit([self = shared_from_this()] { self->open_and_submit(); });
    }

protected:
    struct Checksum {
        std::uint32_t value = 0;
        std::uint64_t length = 0;
    };

    virtual File open_file() = 0;
    // Moves file bytes [begin, end); adds the bytes it moved to `bytes`.
    virtual Checksum move(File& file, std::uint64_t begin, std::uint64_t end, std::uint64_t& bytes) = 0;
    virtual void finish(File& file) = 0;
    virtual void clean_up() noexcept {}

private:
    void submit(std::function<void()> task) {
        if (pool_) pool_->submit(kind_, std::move(task));
        else task();
    }

    void open_and_submit() {
        attempt([this] { file_.emplace(open_file()); });
        left_ = failed_ ? 0 : parts_;
        if (left_ == 0) return end();
        for (std::size_t i = 0; i < parts_; ++i) submit([self = shared_from_this(), i] { self->move_part(i); });
    }

    void move_part(std::size_t i) {
        const std::uint64_t begin = begin_ + i * part_;
        if (!failed_)
            attempt([&] {
                std::uint64_t bytes = 0;
                checksums_[i] = move(*file_, begin, std::min(begin + part_, end_), bytes);
                bytes_ += bytes;
            });
        if (--left_ == 0) end();
    }

    void end() {
        if (!failed_) attempt([this] { finish(*file_); });
        file_.reset();
        if (failed_) clean_up();
        Moved moved{error_, 0, bytes_};
        for (const auto& part : checksums_) moved.checksum = crc32c_combine(moved.checksum, part.value, part.length);
        done_(moved);
    }

    template <class Action>
    void attempt(Action action) {
        try {
            action();
        } catch (...) {
            std::lock_guard lock(mutex_);
            if (!failed_) error_ = std::current_exception();
            failed_ = true;
        }
    }

    const std::uint64_t part_;
    const std::size_t parts_;
    IoPool* const pool_;
    const IoPool::Kind kind_;
    const std::uint64_t begin_, end_;
    const Done done_;
    std::optional<File> file_;
    std::vector<Checksum> checksums_;  // each written by its part, read by the last one
    std::atomic<std::size_t> left_ = 0;
    std::atomic<std::uint64_t> bytes_ = 0;
    std::atomic<bool> failed_ = false;
    std::mutex mutex_;
    std::exception_ptr error_;  // guarded by mutex_ until the last part ends
};

class Read final : public Transfer {
public:
    Read(IoPool* pool, ReadRequest request, Done done)
        : Transfer(pool, IoPool::Kind::read, request.length > 0 ? round_down(request.offset, kBlock) : request.offset,
                   request.offset + request.length, pool ? kRequest : kAlone, std::move(done)),
          request_(std::move(request)) {}

private:
    void check_cancelled() const {
        if (request_.cancelled && *request_.cancelled) throw IoError(ECANCELED, request_.path, "read");
    }

    File open_file() override {
        check_cancelled();
        File file = File::open(request_.path, request_.direct);
        const std::uint64_t end = request_.offset + request_.length, found = file.size();
        if (found < end || (request_.whole && found > end))
            throw std::runtime_error(request_.path + ": the file holds " + std::to_string(found) + " bytes, expected " +
                                     (request_.whole ? "" : "at least ") + std::to_string(end));
        return file;
    }

    Checksum move(File& file, std::uint64_t begin, std::uint64_t end, std::uint64_t& bytes) override {
        check_cancelled();
        const std::uint64_t first = std::max(begin, request_.offset);
        std::byte* const target = request_.memory + (first - request_.offset);
        if (!file.direct()) {
            bytes += file.read(target, end - first, end - first, first);
        } else {
            for (std::uint64_t at = begin, next; at < end; at = next) {
                next = stop_of(at, end);
                bytes += read_blocks(file, at, next);
            }
        }
        return {request_.checksum ? crc32c(target, end - first) : 0, end - first};
    }

    // Where one call of the kernel that begins at block `at` stops: all that it can put straight into the memory; else what the
    // buffer holds, or the first block alone where the rest can go straight.
    std::uint64_t stop_of(std::uint64_t at, std::uint64_t end) const {
        const std::uint64_t whole = request_.padded ? end : round_down(end, kBlock);
        if (straight(at) && at < whole) return end - at > kRequest ? whole : end;
        return std::min(at + (end - at > kRequest && straight(at + kBlock) ? kBlock : kRequest), end);
    }

    // Whether the memory of the bytes from block `at` on begins at a block.
    bool straight(std::uint64_t at) const {
        return at >= request_.offset && block_aligned(request_.memory + (at - request_.offset));
    }

    // Reads [begin, end), of whole blocks but for the end of the request.
    std::uint64_t read_blocks(File& file, std::uint64_t begin, std::uint64_t end) {
        const std::uint64_t first = std::max(begin, request_.offset);
        std::byte* const target = request_.memory + (first - request_.offset);
        const std::size_t blocks = file.transfer_length(end - begin);
        const bool fits = straight(begin) && (blocks == end - begin || request_.padded);
        std::byte* const memory = fits ? target : bounce_buffer();
        const std::uint64_t bytes = file.read(memory, blocks, end - begin, begin);
        if (memory != target) std::memcpy(target, memory + (first - begin), end - first);
        return bytes;
    }

    void finish(File& file) override { file.close(); }

    const ReadRequest request_;
};

class Write final : public Transfer {
public:
    Write(IoPool* pool, WriteRequest request, Done done)
        : Transfer(pool, IoPool::Kind::write, request.offset, request.offset + request.length, kRequest, std::move(done)),
          request_(std::move(request)) {
        if (request_.offset % kBlock != 0 || (request_.offset > 0 && !request_.in_place))
            throw std::invalid_argument("offset: a multiple of the block size, of a file written in place");
        const std::size_t name = request_.path.rfind('/') + 1;
        folder_ = request_.path.substr(0, name);
        temporary_ = folder_ + "." + request_.path.substr(name) + ".tmp";
    }

private:
    File open_file() override {
        if (request_.in_place) return File::change(request_.path, request_.direct);
        try {
            return File::create(temporary_, request_.direct);
        } catch (const IoError& error) {
            if (!request_.make_folder || error.code().value() != ENOENT) throw;
        }
        if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) throw IoError(errno, folder_, "mkdir");
        return File::create(temporary_, request_.direct);
    }

    Checksum move(File& file, std::uint64_t begin, std::uint64_t end, std::uint64_t& bytes) override {
        const std::byte* const source = request_.memory + (begin - request_.offset);
        const std::size_t length = end - begin, blocks = file.transfer_length(length);
        if (!all_finite(source, length, request_.finite)) throw std::overflow_error(request_.path + ": a number is not finite");
        const Checksum checksum{crc32c(source, length), length};
        if (!file.direct() || (block_aligned(source) && (blocks == length || request_.padded))) {
            bytes += file.write(source, blocks, begin);
        } else {
            std::byte* const memory = bounce_buffer();
            std::memcpy(memory, source, length);
            std::memset(memory + length, 0, blocks - length);
            bytes += file.write(memory, blocks, begin);
        }
        return checksum;
    }

    void finish(File& file) override {
        const std::uint64_t end = request_.offset + request_.length;
        if (request_.length % kBlock != 0 || (request_.in_place && file.size() > end)) file.truncate(end);
        file.close();
        if (!request_.in_place && ::rename(temporary_.c_str(), request_.path.c_str()) != 0)
            throw IoError(errno, request_.path, "rename from " + temporary_);
    }

    void clean_up() noexcept override {
        if (!request_.in_place) ::unlink(temporary_.c_str());
    }

    const WriteRequest request_;
    std::string folder_, temporary_;
};

template <class Kind, class Request>
Moved run_now(Request request, int threads, std::size_t alone) {
    std::promise<Moved> result;
    auto future = result.get_future();
    const std::size_t length = request.length;
    const int requests = static_cast<int>(std::min<std::size_t>(length / kRequest + 1, 64));
    std::unique_ptr<IoPool> pool;
    if (length > alone && threads > 1) pool = std::make_unique<IoPool>(std::min(requests, threads));
    auto report = [&](const Moved& moved) { result.set_value(moved); };
    std::make_shared<Kind>(pool.get(), std::move(request), report)->start();
    Moved moved = future.get();
    if (length >= kRequest) bounce.reset();  // the caller may never move as much again
    if (moved.error) std::rethrow_exception(moved.error);
    return moved;
}

}  // namespace

void start_read(IoPool& pool, ReadRequest request, Done done) {
    std::make_shared<Read>(&pool, std::move(request), std::move(done))->start();
}

void start_write(IoPool& pool, WriteRequest request, Done done) {
    std::make_shared<Write>(&pool, std::move(request), std::move(done))->start();
}

Moved read_file(ReadRequest request, int threads) { return run_now<Read>(std::move(request), threads, kAlone); }
Moved write_file(WriteRequest request, int threads) { return run_now<Write>(std::move(request), threads, kRequest); }

}  // namespace marius
