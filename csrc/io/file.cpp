#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/bytes.h"

namespace marius {
namespace {

std::string at(const char* call, std::size_t length, std::uint64_t offset) {
    return std::string(call) + " of " + std::to_string(length) + " bytes at offset " + std::to_string(offset);
}

int open_retrying(const char* path, int flags) {
    int descriptor;
    do descriptor = ::open(path, flags | O_CLOEXEC, 0666);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

}  // namespace

IoError::IoError(int error, std::string path_, const std::string& doing)
    : std::system_error(error, std::generic_category(), path_ + ": " + doing), path(std::move(path_)),
      detail(doing + ": " + std::generic_category().message(error)) {}

File File::open(std::string path, bool direct) { return {std::move(path), O_RDONLY, direct}; }

File File::create(std::string path, bool direct) { return {std::move(path), O_WRONLY | O_CREAT | O_TRUNC, direct}; }

File File::change(std::string path, bool direct) { return {std::move(path), O_WRONLY | O_CREAT, direct}; }

File::File(std::string path, int flags, bool direct) : path_(std::move(path)), direct_(direct) {
    descriptor_ = open_retrying(path_.c_str(), direct ? flags | O_DIRECT : flags);
    if (descriptor_ < 0 && direct && errno == EINVAL) {
        direct_ = false;
        descriptor_ = open_retrying(path_.c_str(), flags);
    }
    if (descriptor_ < 0) throw IoError(errno, path_, "open");
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), direct_(other.direct_.load()) {}

File::~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void File::close() {
    if (!direct_) drop_cache(0, 0);
    if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) throw IoError(errno, path_, "close");
}

std::size_t File::transfer_length(std::size_t length) const { return direct_ ? round_up(length, kBlock) : length; }

// Whether the failed call is worth another try: interrupted, short of kernel memory, or refused for being direct
// (`was_direct`: read before the call, so that several threads may fall back at once).
bool File::resume_after(int error, bool was_direct) {
    if (error == EAGAIN) std::this_thread::yield();
    if (error == EINVAL && was_direct) {
        fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) & ~O_DIRECT);
        direct_ = false;
        return true;
    }
    return error == EINTR || error == EAGAIN;
}

std::uint64_t File::read(std::byte* memory, std::size_t length, std::size_t needed, std::uint64_t offset) {
    std::size_t done = 0;
    while (done < needed) {
        const bool direct = direct_;
        const ssize_t got = ::pread(descriptor_, memory + done, length - done, static_cast<off_t>(offset + done));
        if (got < 0) {
            if (resume_after(errno, direct)) continue;
            throw IoError(errno, path_, at("read", length - done, offset + done));
        }
        const std::size_t before = done;
        done += static_cast<std::size_t>(got);
        if (direct && done < needed) done = round_down(done, kBlock);  // the next call must start on a block
        if (done == before)
            throw std::runtime_error(path_ + ": the file holds " + std::to_string(size()) + " bytes, expected at least " +
                                     std::to_string(offset + needed));
    }
    if (!direct_) drop_cache(offset, length);
    return length;
}

std::uint64_t File::write(const std::byte* memory, std::size_t length, std::uint64_t offset) {
    std::size_t done = 0;
    while (done < length) {
        const bool direct = direct_;
        const ssize_t put = ::pwrite(descriptor_, memory + done, length - done, static_cast<off_t>(offset + done));
        if (put < 0) {
            if (resume_after(errno, direct)) continue;
            throw IoError(errno, path_, at("write", length - done, offset + done));
        }
        const std::size_t before = done;
        done += static_cast<std::size_t>(put);
        if (direct && done < length) done = round_down(done, kBlock);
        if (done == before) throw IoError(EIO, path_, at("write", length - done, offset + done));
    }
    if (!direct_) drop_cache(offset, length);  // starts the pages' way to disk; what is clean leaves the cache
    return length;
}

std::uint64_t File::size() const {
    struct stat facts{};
    if (fstat(descriptor_, &facts) != 0) throw IoError(errno, path_, "stat");
    return static_cast<std::uint64_t>(facts.st_size);
}

void File::truncate(std::uint64_t size) {
    while (ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
        if (errno != EINTR) throw IoError(errno, path_, "truncate to " + std::to_string(size) + " bytes");
}

void File::drop_cache(std::uint64_t offset, std::uint64_t length) const {
    posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_DONTNEED);
}

bool supports_direct(const std::string& directory) {
    static std::atomic<int> count = 0;
    const std::string name = ".direct." + std::to_string(getpid()) + "." + std::to_string(++count) + ".tmp";
    const std::string path = directory + "/" + name;
    const std::unique_ptr<void, decltype(&std::free)> block(std::aligned_alloc(kBlock, kBlock), &std::free);
    const auto memory = static_cast<std::byte*>(block.get());
    std::memset(memory, 0, kBlock);
    bool direct = true;
    try {
        File written = File::create(path, true);
        written.write(memory, kBlock, 0);
        File read = File::open(path, written.direct());
        read.read(memory, kBlock, kBlock, 0);
        direct = read.direct();
    } catch (const IoError& error) {
        const int reason = error.code().value();
        if (reason == ENOENT || reason == ENOTDIR) throw IoError(reason, directory, "open");
    }
    unlink(path.c_str());
    return direct;
}

}  // namespace marius
