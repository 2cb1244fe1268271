// Pins host memory, so that a device reads and writes it directly.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/driver.h"

namespace marius {

// Memory that is pinned from construction to release() or destruction. It must be mapped and writable all that time.
//
// Several threads touch its pages first, which does not change them. Then it is registered in parts of at most 64 GiB that end
// on whole `boundary`s, because some drivers refuse a registration of 512 GiB. If one fails, or if a device would see a part
// elsewhere than right after the one before, all earlier parts are unregistered, last first, and DriverError is thrown.
// std::invalid_argument where sizes do not fit.
class PinnedMemory {
public:
    static constexpr std::uint64_t most = std::uint64_t{64} << 30;  // bytes of a part, unless one boundary is larger

    PinnedMemory(Driver& driver, int device, void* base, std::uint64_t bytes, std::uint64_t boundary, int threads,
                 std::uint64_t most_bytes = most);
    ~PinnedMemory();
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;

    // Unregisters all parts, last first, and then throws the first error. A second call does nothing.
    void release();

    std::uint64_t address() const { return address_; }  // of the first byte, as devices see it
    int chunks() const { return static_cast<int>(registrations_.size()); }

private:
    struct Registration {
        std::byte* base;
        std::uint64_t bytes;
    };
    void add(Registration part, int device);

    Driver& driver_;
    std::vector<Registration> registrations_;
    std::uint64_t address_ = 0;
};

}  // namespace marius
