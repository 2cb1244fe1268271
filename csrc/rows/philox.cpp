#include "rows/philox.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace marius {
namespace {

// The stream of 32-bit numbers of `numpy.random.Philox` with the key (seed, 0). (Source: Salmon, Moraes, Dror and Shaw, Parallel random
// numbers: as easy as 1, 2, 3, SC 2011: Philox 4x64-10. numpy takes the halves of each number of 64 bits, the lower one first.)
class Philox {
public:
    explicit Philox(std::uint64_t seed) : seed_(seed) {}

    std::uint32_t next() {
        if (place_ == block_.size()) fill();
        return block_[place_++];
    }

private:
    using Wide = unsigned __int128;

    void fill() {
        ++counter_;
        std::array<std::uint64_t, 4> x{counter_, 0, 0, 0};
        std::uint64_t key0 = seed_, key1 = 0;
        for (int round = 0; round < 10; ++round) {
            const Wide first = Wide{0xD2E7470EE14C6C93} * x[0], second = Wide{0xCA5A826395121157} * x[2];
            x = {static_cast<std::uint64_t>(second >> 64) ^ x[1] ^ key0, static_cast<std::uint64_t>(second),
                 static_cast<std::uint64_t>(first >> 64) ^ x[3] ^ key1, static_cast<std::uint64_t>(first)};
            key0 += 0x9E3779B97F4A7C15;
            key1 += 0xBB67AE8584CAA73B;
        }
        for (std::size_t i = 0; i < x.size(); ++i) {
            block_[2 * i] = static_cast<std::uint32_t>(x[i]);
            block_[2 * i + 1] = static_cast<std::uint32_t>(x[i] >> 32);
        }
        place_ = 0;
    }

    std::uint64_t seed_, counter_ = 0;
    std::array<std::uint32_t, 8> block_{};
    std::size_t place_ = 8;
};

}  // namespace

void draw_below(std::uint64_t seed, std::int64_t bound, std::int64_t* out, std::int64_t count) {
    if (bound < 1 || bound >= std::int64_t{1} << 32)
        throw std::invalid_argument("draw_below: bound " + std::to_string(bound) + " is not from 1 to 4294967295");
    if (bound == 1) {
        std::fill_n(out, count, 0);
        return;
    }
    Philox stream(seed);
    const auto size = static_cast<std::uint32_t>(bound);
    const std::uint32_t least = -size % size;
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint64_t product = std::uint64_t{stream.next()} * size;
        while (static_cast<std::uint32_t>(product) < least) product = std::uint64_t{stream.next()} * size;
        out[i] = static_cast<std::int64_t>(product >> 32);
    }
}

void shuffled(std::uint64_t seed, std::uint32_t* out, std::int64_t count) {
    if (count >= std::int64_t{1} << 32)
        throw std::invalid_argument("shuffled: " + std::to_string(count) + " numbers are too many");
    std::iota(out, out + count, 0U);
    Philox stream(seed);
    for (auto last = static_cast<std::uint32_t>(std::max<std::int64_t>(count, 1)) - 1; last > 0; --last) {
        // Not as above: numpy takes as many bits as the bound has, until the number is small enough.
        const std::uint32_t bits = ~0U >> std::countl_zero(last);
        std::uint32_t drawn = stream.next() & bits;
        while (drawn > last) drawn = stream.next() & bits;
        std::swap(out[last], out[drawn]);
    }
}

}  // namespace marius
