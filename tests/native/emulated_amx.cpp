// AMX in plain C++, so that what is written for it is tested on processors that have AVX512-BF16 alone. Its program takes these
// functions instead of the library's. The order of sums within a tile may differ from the processor's.
#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace {

struct Tile {
    unsigned char rows[16][64];
};

thread_local Tile registers[8];

float number(std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float x;
    std::memcpy(&x, &wide, sizeof x);
    return x;
}

void emulated_load(int tile, const void* from, long stride) {
    for (int row = 0; row < 16; ++row) std::memcpy(registers[tile].rows[row], static_cast<const char*>(from) + row * stride, 64);
}

void emulated_store(int tile, void* to, long stride) {
    for (int row = 0; row < 16; ++row) std::memcpy(static_cast<char*>(to) + row * stride, registers[tile].rows[row], 64);
}

void emulated_product(int sum, int left, int right) {
    for (int m = 0; m < 16; ++m) {
        float sums[16];
        std::memcpy(sums, registers[sum].rows[m], 64);
        for (int k = 0; k < 16; ++k) {
            std::uint16_t a[2], b[32];
            std::memcpy(a, registers[left].rows[m] + 4 * k, sizeof a);
            std::memcpy(b, registers[right].rows[k], sizeof b);
            for (int n = 0; n < 16; ++n) sums[n] += number(a[0]) * number(b[2 * n]) + number(a[1]) * number(b[2 * n + 1]);
        }
        std::memcpy(registers[sum].rows[m], sums, 64);
    }
}

}  // namespace

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#define _tile_loadconfig(shapes) static_cast<void>(shapes)
#define _tile_release() static_cast<void>(0)
#define _tile_loadd(tile, from, stride) emulated_load(tile, from, stride)
#define _tile_stored(tile, to, stride) emulated_store(tile, to, stride)
#define _tile_zero(tile) \
    registers[tile] = Tile {}
#define _tile_dpbf16ps(sum, left, right) emulated_product(sum, left, right)

#include "score/shared_loss_amx.cpp"

namespace marius {

bool amx_usable() { return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw"); }

}  // namespace marius
