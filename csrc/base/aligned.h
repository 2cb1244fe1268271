// Arrays on a boundary of a cache line, which are not initialised.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace marius {

template <class T> class Aligned {
public:
    explicit Aligned(std::int64_t count)
        : memory_(static_cast<T*>(
              std::aligned_alloc(line, (static_cast<std::size_t>(count) * sizeof(T) + line - 1) / line * line + line))) {
        if (!memory_) throw std::bad_alloc();
    }
    T* get() const { return memory_.get(); }

private:
    static constexpr std::size_t line = 64;
    struct Freed {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<T, Freed> memory_;
};

}  // namespace marius
