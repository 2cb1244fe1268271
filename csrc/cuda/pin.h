// Pins host memory, so that a device reads and writes it directly.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/driver.h"

namespace marius {

// Memory pinned from construction to release() or destruction. It must be mapped and writable all that time.
//
// Its pages are touched by several threads first, which keeps their contents; then it is registered in pieces of at
// most 64 GiB that end on whole `boundary`s: one piece of 512 GiB is refused by some drivers. All or nothing: a
// failure gives back the pieces before it, last first, and throws DriverError; likewise if a device would see a
// piece elsewhere than right after the one before. std::invalid_argument where sizes do not fit.
class PinnedMemory {
public:
    static constexpr std::uint64_t most = std::uint64_t{64} << 30;  // bytes of a piece, unless one boundary is larger

    PinnedMemory(Driver& driver, int device, void* base, std::uint64_t bytes, std::uint64_t boundary, int threads,
                 std::uint64_t most_bytes = most);
    ~PinnedMemory();
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;

    // Gives all pieces back, last first; throws the first error after the last piece. A second call does nothing.
    void release();

    std::uint64_t address() const { return address_; }  // of the first byte, as devices see it
    int chunks() const { return static_cast<int>(pieces_.size()); }

private:
    struct Piece {
        std::byte* base;
        std::uint64_t bytes;
    };
    void add(Piece piece, int device);

    Driver& driver_;
    std::vector<Piece> pieces_;
    std::uint64_t address_ = 0;
};

}  // namespace marius
