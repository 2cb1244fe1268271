// Reads or writes a file from front to back, through a buffer.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "io/file.h"

namespace marius {

class SequentialReader {
public:
    SequentialReader(std::string path, uint64_t size, size_t buffer_bytes)
        : file_(File::open(std::move(path), false)), size_(size), capacity_(buffer_bytes), buffer_(new std::byte[capacity_]) {}

    // Returns the next `count` bytes, valid until the next call. Throws IoError; std::runtime_error where the file is shorter.
    const std::byte* take(size_t count) {
        if (end_ - begin_ < count) fill(count);
        return buffer_.get() + std::exchange(begin_, begin_ + count);
    }

private:
    void fill(size_t count) {
        const size_t unread = end_ - begin_;
        const uint64_t left = size_ - read_;
        if (count - unread > left) throw std::runtime_error(file_.path() + ": ends before what it should hold");
        if (count > capacity_) {
            std::unique_ptr<std::byte[]> larger(new std::byte[count]);
            std::memcpy(larger.get(), buffer_.get() + begin_, unread);
            buffer_ = std::move(larger), capacity_ = count;
        } else {
            std::memmove(buffer_.get(), buffer_.get() + begin_, unread);
        }
        const size_t wanted = static_cast<size_t>(std::min<uint64_t>(capacity_ - unread, left));
        file_.read(buffer_.get() + unread, wanted, wanted, read_);
        read_ += wanted, begin_ = 0, end_ = unread + wanted;
    }

    File file_;
    uint64_t size_, read_ = 0;
    size_t capacity_, begin_ = 0, end_ = 0;
    std::unique_ptr<std::byte[]> buffer_;
};

class SequentialWriter {
public:
    SequentialWriter(std::string path, size_t buffer_bytes)
        : file_(File::create(std::move(path), false)), capacity_(buffer_bytes), buffer_(new std::byte[capacity_]) {}

    void append(const void* data, size_t count) {
        if (used_ + count > capacity_) flush();
        if (count > capacity_) return write(static_cast<const std::byte*>(data), count);
        std::memcpy(buffer_.get() + used_, data, count);
        used_ += count;
    }
    // Writes the rest of what was appended. Throws IoError.
    void close() {
        flush();
        file_.close();
    }

private:
    void flush() { write(buffer_.get(), std::exchange(used_, 0)); }
    void write(const std::byte* data, size_t count) {
        if (count) file_.write(data, count, written_);
        written_ += count;
    }

    File file_;
    uint64_t written_ = 0;
    size_t capacity_, used_ = 0;
    std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace marius
