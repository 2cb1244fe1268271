// Float types: every half, every midpoint between two of them, and what lies beside it, against rounding in double.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "check.h"
#include "cuda/convert.h"

using namespace marius;

namespace {

struct Format {
    int exponent_bits, fraction_bits;
    std::uint16_t (*to)(float);
    float (*from)(std::uint16_t);

    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    std::uint16_t infinity() const { return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits); }

    double value(std::uint16_t half) const {  // of a finite half without its sign
        const int exponent = half >> fraction_bits, fraction = half & ((1 << fraction_bits) - 1);
        const int hidden = exponent > 0 ? 1 << fraction_bits : 0;
        return std::ldexp(hidden + fraction, std::max(exponent, 1) - bias() - fraction_bits);
    }
};

const Format float16{5, 10, [](float x) { return to_float16(x); }, [](std::uint16_t h) { return from_float16(h); }};
const Format bfloat16{8, 7, [](float x) { return to_bfloat16(x); }, [](std::uint16_t h) { return from_bfloat16(h); }};

void check_rounding(const Format& format) {
    const std::uint16_t sign = 0x8000;
    for (std::uint16_t half = 0; half < format.infinity(); ++half) {
        const double value = format.value(half);
        CHECK(format.from(half) == value && format.from(half | sign) == -value);
        CHECK(std::signbit(format.from(half | sign)));
        CHECK(format.to(static_cast<float>(value)) == half);
        CHECK(format.to(static_cast<float>(-value)) == (half | sign));
        const std::uint16_t next = half + 1;  // after the largest one, the value it would have: infinity
        const double middle = (value + (next < format.infinity() ? format.value(next) : 2 * value - format.value(half - 1))) / 2;
        const auto exact = static_cast<float>(middle);
        CHECK(exact == middle);
        const std::uint16_t even = half % 2 == 0 ? half : next;
        CHECK(format.to(exact) == even && format.to(-exact) == (even | sign));
        CHECK(format.to(std::nextafter(exact, 0.0f)) == half);
        CHECK(format.to(std::nextafter(exact, std::numeric_limits<float>::infinity())) == next);
    }
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(format.to(infinity) == format.infinity() && format.from(format.infinity()) == infinity);
    CHECK(format.to(-infinity) == (format.infinity() | sign));
    CHECK(format.to(std::numeric_limits<float>::max()) == format.infinity());
    for (std::uint32_t nan : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0xffffffffu}) CHECK(format.to(float_of(nan)) == 0x7fff);
    for (std::uint32_t nan = format.infinity() + 1u; nan <= 0x7fff; ++nan)
        CHECK(std::isnan(format.from(static_cast<std::uint16_t>(nan))));
}

}  // namespace

int main() {
    check_rounding(float16);
    check_rounding(bfloat16);
}
