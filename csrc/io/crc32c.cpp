#include "io/crc32c.h"

#include <array>
#include <cstring>

namespace marius {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // x^32 + x^28 + ... + 1, bits reflected: x^0 is the top bit

// One step of a checksum over a zero bit.
constexpr std::uint32_t times_x(std::uint32_t a) { return (a >> 1) ^ (a & 1 ? kPolynomial : 0); }

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
        if (a & bit) product ^= b;
        b = times_x(b);
    }
    return product;
}

// x^(8 * bytes): multiplying a checksum's state by it is the same as feeding that many zero bytes.
constexpr std::uint32_t shift_by(std::uint64_t bytes) {
    std::uint32_t result = 1u << 31, square = 1u << 23;
    for (; bytes != 0; bytes >>= 1) {
        if (bytes & 1) result = multiply(result, square);
        square = multiply(square, square);
    }
    return result;
}

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t state = byte;
        for (int bit = 0; bit < 8; ++bit) state = times_x(state);
        tables[0][byte] = state;
    }
    for (std::size_t k = 1; k < 8; ++k)
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
        }
    return tables;
}

constexpr Tables kTables = make_tables();

std::uint64_t load8(const unsigned char* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    return word;
}

#if defined(__x86_64__)
constexpr std::size_t kLane = 16384;  // long enough to hide the cost of joining three lanes

__attribute__((target("sse4.2,crc32"))) std::uint32_t by_instruction(const unsigned char* bytes, std::size_t size,
                                                                     std::uint32_t initial) {
    constexpr std::uint32_t one_lane = shift_by(kLane), two_lanes = shift_by(2 * kLane);
    std::uint64_t state = ~initial;
    // The instruction takes three cycles and one can start in each: three independent lanes.
    for (; size >= 3 * kLane; bytes += 3 * kLane, size -= 3 * kLane) {
        std::uint64_t second = 0, third = 0;
        for (std::size_t i = 0; i < kLane; i += 8) {
            state = __builtin_ia32_crc32di(state, load8(bytes + i));
            second = __builtin_ia32_crc32di(second, load8(bytes + kLane + i));
            third = __builtin_ia32_crc32di(third, load8(bytes + 2 * kLane + i));
        }
        state = multiply(two_lanes, static_cast<std::uint32_t>(state)) ^ multiply(one_lane, static_cast<std::uint32_t>(second)) ^
                third;
    }
    for (; size >= 8; bytes += 8, size -= 8) state = __builtin_ia32_crc32di(state, load8(bytes));
    auto narrow = static_cast<std::uint32_t>(state);
    for (; size > 0; ++bytes, --size) narrow = __builtin_ia32_crc32qi(narrow, *bytes);
    return ~narrow;
}
#endif

}  // namespace

std::uint32_t crc32c_by_tables(const void* data, std::size_t size, std::uint32_t initial) {
    auto bytes = static_cast<const unsigned char*>(data);
    std::uint32_t state = ~initial;
    for (; size >= 8; bytes += 8, size -= 8) {
        const std::uint64_t word = load8(bytes) ^ state;
        state = 0;
        for (std::size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
    }
    for (; size > 0; ++bytes, --size) state = (state >> 8) ^ kTables[0][(state ^ *bytes) & 0xff];
    return ~state;
}

bool crc32c_in_hardware() {
#if defined(__x86_64__)
    static const bool found = __builtin_cpu_supports("sse4.2");
    return found;
#else
    return false;
#endif
}

std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t initial) {
#if defined(__x86_64__)
    if (crc32c_in_hardware()) return by_instruction(static_cast<const unsigned char*>(data), size, initial);
#endif
    return crc32c_by_tables(data, size, initial);
}

std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
    return multiply(shift_by(second_size), first) ^ second;
}

}  // namespace marius
