// The buffer's memory: one anonymous mapping on huge pages.
#pragma once
#include <cstddef>

namespace marius {

/// `size` bytes, zero, aligned to 2 MiB, backed by huge pages where the kernel gives them and by 4 KiB pages
/// elsewhere. Pages take memory at their first touch. Throws std::system_error when the mapping is refused.
class HugeMemory {
public:
    explicit HugeMemory(std::size_t size);
    ~HugeMemory();
    HugeMemory(const HugeMemory&) = delete;
    HugeMemory& operator=(const HugeMemory&) = delete;

    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }
    /// Whether the kernel accepted the request for huge pages.
    bool huge() const { return huge_; }

private:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0, mapped_ = 0;
    bool huge_ = false;
};

}  // namespace marius
