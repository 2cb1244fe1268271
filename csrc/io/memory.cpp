#include "io/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/bytes.h"

namespace marius {

HugeMemory::HugeMemory(std::size_t size) : size_(size), mapped_(round_up(size, 2 * kMiB)) {
    constexpr std::size_t align = 2 * kMiB;
    const std::size_t asked = mapped_ + align;
    void* start = mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "buffer of " + std::to_string(size) + " bytes");
    auto first = static_cast<std::byte*>(start);
    const std::size_t before = round_up(reinterpret_cast<std::uintptr_t>(first), align) - reinterpret_cast<std::uintptr_t>(first);
    data_ = first + before;
    if (before > 0) munmap(first, before);
    if (before < align) munmap(data_ + mapped_, align - before);
    if (mapped_ > 0) huge_ = madvise(data_, mapped_, MADV_HUGEPAGE) == 0;
}

HugeMemory::~HugeMemory() {
    if (mapped_ > 0) munmap(data_, mapped_);
}

}  // namespace marius
