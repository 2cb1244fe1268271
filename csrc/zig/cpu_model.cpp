// What this processor can do, for __builtin_cpu_supports and functions in clones. Zig's runtime has these three names too, but
// no processor of its can do anything: its own are weak, and give way to these. Layout and numbers of bits are those of libgcc and
// compiler-rt, which all compilers read. Only what is asked for here is told.
#include <cpuid.h>

namespace {

bool is_set(unsigned bits, int number) { return bits >> number & 1; }

// Whether the operating system keeps these states of registers, by their bits in XCR0.
bool keeps(unsigned states) {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & states) == states;
}

}  // namespace

extern "C" {

__attribute__((visibility("hidden"))) struct {
    unsigned vendor, type, subtype, features;
} __cpu_model;
__attribute__((visibility("hidden"))) unsigned __cpu_features2[4];

__attribute__((visibility("hidden"), constructor(101))) int __cpu_indicator_init() {
    unsigned a, b1, c1, d1, b7 = 0, c7, d7 = 0, a71 = 0, b, c, d;
    if (!__get_cpuid(1, &a, &b1, &c1, &d1)) return -1;
    __get_cpuid_count(7, 0, &a, &b7, &c7, &d7);
    if (a >= 1) __get_cpuid_count(7, 1, &a71, &b, &c, &d);
    const bool saves = is_set(c1, 27);
    const bool avx = saves && keeps(0x6), avx512 = saves && keeps(0xe6), amx = saves && keeps(0x60000);
    const auto tell = [](int bit, bool there) {
        unsigned& word = bit < 32 ? __cpu_model.features : __cpu_features2[bit / 32 - 1];
        word |= unsigned{there} << bit % 32;
    };
    tell(8, is_set(c1, 20));             // sse4.2
    tell(10, avx && is_set(b7, 5));      // avx2
    tell(14, avx && is_set(c1, 12));     // fma
    tell(15, avx512 && is_set(b7, 16));  // avx512f
    tell(21, avx512 && is_set(b7, 30));  // avx512bw
    tell(36, avx512 && is_set(a71, 5));  // avx512bf16
    tell(87, amx && is_set(d7, 22));     // amx-bf16
    __cpu_model.vendor = 1;              // not 0: it is known now
    return 0;
}
}
