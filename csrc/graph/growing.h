// An array that only grows, by realloc: large blocks are remapped by the kernel, not copied.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace marius {

template <class T>
class Growing {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Growing() = default;
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;
    Growing(Growing&& other) noexcept { swap(other); }
    Growing& operator=(Growing&& other) noexcept { return swap(other), *this; }
    ~Growing() { std::free(data_); }

    size_t size() const { return size_; }
    size_t bytes() const { return capacity_ * sizeof(T); }
    const T* data() const { return data_; }
    const T& operator[](size_t i) const { return data_[i]; }

    T* data() { return data_; }

    void clear() { size_ = 0; }

    // `count` more, uninitialised.
    void extend(size_t count) {
        if (size_ + count > capacity_) reserve(size_ + count);
        size_ += count;
    }
    void push(T value) { append(&value, 1); }
    void append(const T* values, size_t count) {
        extend(count);
        if (count) std::memcpy(data_ + size_ - count, values, count * sizeof(T));
    }

private:
    void swap(Growing& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    void reserve(size_t wanted) {
        size_t capacity = capacity_ + capacity_ / 2 + 1024;
        if (capacity < wanted) capacity = wanted;
        void* moved = std::realloc(data_, capacity * sizeof(T));
        if (!moved) throw std::bad_alloc();
        data_ = static_cast<T*>(moved);
        capacity_ = capacity;
    }

    T* data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
};

}  // namespace marius
