// An open file. I/O is direct where the file system allows it. A transfer is complete, or an error says where it failed.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

namespace marius {

/// A failed system call on a file. `what()` names call, path, offset and reason; `code()` holds errno.
class IoError : public std::system_error {
public:
    IoError(int error, std::string path, const std::string& doing);

    const std::string path;
    const std::string detail;  // what() without the path
};

/// An open file. With `direct` it bypasses the page cache. Where the kernel refuses that (EINVAL), I/O is buffered, and
/// the file's pages are dropped from the cache after use.
///
/// Threading: `read` and `write` may be called by several threads on different ranges at the same time.
class File {
public:
    /// Opens for reading. Throws IoError.
    static File open(std::string path, bool direct);
    /// Creates or empties, for writing. Throws IoError.
    static File create(std::string path, bool direct);
    /// Opens for writing and keeps the contents; creates the file where it is missing. Throws IoError.
    static File change(std::string path, bool direct);

    File(File&& other) noexcept;
    File& operator=(File&&) = delete;
    ~File();

    /// Fills memory[0, length) from `offset`. When direct, all three must be multiples of kBlock, and the range may
    /// reach past the end of the file; at least `needed` bytes must exist. Throws IoError, or std::runtime_error
    /// when the file ends early. Returns the bytes transferred.
    std::uint64_t read(std::byte* memory, std::size_t length, std::size_t needed, std::uint64_t offset);
    /// Writes memory[0, length) at `offset`; the same alignment. Throws IoError. Returns the bytes transferred.
    std::uint64_t write(const std::byte* memory, std::size_t length, std::uint64_t offset);

    std::uint64_t size() const;
    void truncate(std::uint64_t size);
    /// Closes the file. Throws IoError where close() fails: some file systems report a full disk only then.
    void close();

    bool direct() const { return direct_; }
    const std::string& path() const { return path_; }
    /// `length` rounded up to what one transfer must ask for: whole blocks when direct.
    std::size_t transfer_length(std::size_t length) const;

private:
    File(std::string path, int flags, bool direct);
    bool resume_after(int error, bool was_direct);
    void drop_cache(std::uint64_t offset, std::uint64_t length) const;

    std::string path_;
    int descriptor_ = -1;
    std::atomic<bool> direct_;
};

/// Whether files in `directory` can be written and read past the page cache. It tries with a small file. Where it cannot make
/// one (no permission, full), it returns true, because File falls back by itself. Throws IoError when there is no such folder.
bool supports_direct(const std::string& directory);

}  // namespace marius
