#include "rows/bfloat16.h"

#include <bit>

#include "rows/vector.h"

namespace marius {
namespace {

constexpr std::uint32_t exponent = 0x7f800000u;  // all ones in infinities and NaNs
constexpr std::uint32_t golden = 0x9e3779b9u;    // parts the keys of neighbouring places

float widened(std::uint16_t half) { return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16); }

std::uint16_t nearest(float x) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    return (bits & exponent) == exponent ? bits >> 16 : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

// The lower half is compared with 16 random bits by adding them: the carry is 1 as often as the half says. They are a hash of
// the number and the key (two rounds of Wellons' lowbias32, whose upper bits are the good ones).
inline std::uint32_t rounded(std::uint32_t bits, std::uint32_t key) {
    std::uint32_t chance = bits ^ key;
    chance = (chance ^ chance >> 16) * 0x7feb352du;
    chance = (chance ^ chance >> 15) * 0x846ca68bu;
    return (bits + ((bits & exponent) == exponent ? 0u : chance >> 16)) >> 16;
}

}  // namespace

MARIUS_VECTOR_CLONES
void widen_bfloat16(const std::uint16_t* __restrict in, float* __restrict out, std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c) out[c] = std::bit_cast<float>(static_cast<std::uint32_t>(in[c]) << 16);
}

MARIUS_VECTOR_CLONES
void round_by_chance(const float* __restrict in, std::uint16_t* __restrict out, std::int64_t count, std::uint32_t key) {
    for (std::int64_t c = 0; c < count; ++c)
        out[c] = static_cast<std::uint16_t>(
            rounded(std::bit_cast<std::uint32_t>(in[c]), key + golden * static_cast<std::uint32_t>(c)));
}

float sum_of_halves(const std::uint16_t* in) { return widened(in[0]) + widened(in[1]); }

void split_into_halves(float x, std::uint16_t* out, std::uint32_t key) {
    out[0] = nearest(x);
    const float rest = x - widened(out[0]);  // exact
    round_by_chance(&rest, out + 1, 1, key);
}

}  // namespace marius
