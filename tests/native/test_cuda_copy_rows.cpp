// Rows between tables: every width, type, alignment and order of places; each byte once and no byte beside.
#include <sys/mman.h>

#include <set>

#include "places.h"

using namespace marius;

namespace {

constexpr std::uint8_t poison = 0xA5;

void run(const CopyRows& job, Grid grid, CountingMemory& memory) {
    with_vectors(job, [&](auto source, auto target) {
        run_places(grid, [&](const Place& place) { copy_rows<decltype(source), decltype(target)>(job, place, memory); });
    });
}

// One element as the copy should leave it.
void expect_element(const char* from, char* to, int source_type, int target_type) {
    if (source_type == target_type) {
        std::memcpy(to, from, float_bytes(source_type));
        return;
    }
    float value;
    std::uint16_t half;
    if (source_type == marius_float32) std::memcpy(&value, from, 4);
    else std::memcpy(&half, from, 2), value = source_type == marius_float16 ? from_float16(half) : from_bfloat16(half);
    half = target_type == marius_float16 ? to_float16(value) : to_bfloat16(value);
    if (target_type == marius_float32) std::memcpy(to, &value, 4);
    else std::memcpy(to, &half, 2);
}

struct Case {
    int source_type, target_type, columns, source_offset, target_offset, source_padding, target_padding, count;
    bool by_source, by_target, wide;
};

void check_case(const Case& c) {
    constexpr int source_count = 7, target_count = 19, guard = 64;
    const int source_size = float_bytes(c.source_type), target_size = float_bytes(c.target_type);
    const std::int64_t source_stride = c.columns * source_size + c.source_padding;
    const std::int64_t target_stride = c.columns * target_size + c.target_padding;
    std::vector<char> source(2 * guard + source_count * source_stride + c.source_offset);
    std::vector<char> target(2 * guard + target_count * target_stride + c.target_offset, static_cast<char>(poison));
    for (char& byte : source) byte = static_cast<char>(random_bits());
    std::vector<std::int64_t> from(c.count), to(target_count);
    for (std::int64_t& row : from) row = static_cast<std::int64_t>(random_bits() % source_count);  // they repeat
    std::iota(to.begin(), to.end(), 0);
    if (c.by_target) std::shuffle(to.begin(), to.end(), random_bits);
    if (!c.by_source) std::iota(from.begin(), from.end(), 0);
    const std::vector<std::int32_t> narrow_from(from.begin(), from.end()), narrow_to(to.begin(), to.end());
    const auto indices = [&](bool used, const void* wide, const void* narrow) {
        return !used ? nullptr : c.wide ? wide : narrow;
    };
    char* const source_base = source.data() + guard + c.source_offset;
    char* const target_base = target.data() + guard + c.target_offset;
    const CopyRows job = copy_job({.source = source_base,
                                   .target = target_base,
                                   .source_rows = indices(c.by_source, from.data(), narrow_from.data()),
                                   .target_rows = indices(c.by_target, to.data(), narrow_to.data()),
                                   .count = c.count,
                                   .columns = c.columns,
                                   .source_stride = source_stride,
                                   .target_stride = target_stride,
                                   .source_type = c.source_type,
                                   .target_type = c.target_type,
                                   .index_bytes = c.wide ? 8 : 4,
                                   .max_sms = 0,
                                   .sm_flags = nullptr});
    std::vector<char> expected = target;
    std::vector<std::uint8_t> once(target.size(), 0);
    for (int i = 0; i < c.count; ++i)
        for (int column = 0; column < c.columns; ++column) {
            const std::int64_t at = guard + c.target_offset + to[i] * target_stride + column * target_size;
            expect_element(source_base + from[i] * source_stride + column * source_size, expected.data() + at, c.source_type,
                           c.target_type);
            for (int b = 0; b < target_size; ++b) once[at + b] = 1;
        }
    CountingMemory memory(target.data(), target.size());
    run(job, {.blocks = 2, .threads = 32}, memory);
    CHECK(memory.stores == once);
    CHECK(target == expected);
}

void every_width_and_type() {
    int turn = 0;
    for (int columns = 1; columns <= 300; columns += columns < 40 ? 1 : 7)
        for (int source_type = marius_float32; source_type <= marius_bytes; ++source_type)
            for (int target_type = marius_float32; target_type <= marius_bytes; ++target_type) {
                if ((source_type == marius_bytes) != (target_type == marius_bytes)) continue;
                const bool converts = source_type != target_type;
                for (int shape = 0; shape < 3; ++shape, ++turn) {
                    // Rows without padding, rows on 16 bytes, rows anywhere (at multiples of their floats to convert).
                    const int unit = converts ? 4 : 1, size = columns * float_bytes(source_type);
                    const int even = shape == 1 ? (16 - size % 16) % 16 : 0;
                    const int target_even = shape == 1 ? (16 - columns * float_bytes(target_type) % 16) % 16 : 0;
                    const auto some = [&](int most) { return shape == 2 ? unit * static_cast<int>(random_bits() % most) : 0; };
                    const bool by_source = turn % 4 != 1;  // without indices the source has seven rows to give
                    check_case({source_type, target_type, columns, some(17), some(17), even + some(9), target_even + some(9),
                                by_source ? turn % 20 : turn % 8, by_source, turn % 2 == 1, turn % 3 == 0});
                }
            }
}

// Rows of several instructions: whatever 16 bytes they begin at, no line of 128 bytes is asked for twice.
struct LineMemory {
    int thread = 0;
    std::vector<int> asked = std::vector<int>(32);        // by thread
    std::set<std::pair<std::uintptr_t, int>> lines = {};  // line, instruction

    template <class V>
    V load(const void* address) {
        lines.insert({reinterpret_cast<std::uintptr_t>(address) / 128, asked[thread]++});
        return {};
    }
    template <class V>
    void store(void*, const V&) {}
};

void requests_lie_on_lines() {
    alignas(128) static char table[8192];
    for (int offset = 0; offset < 128; offset += 16)
        for (int bytes : {1024, 2048, 4096}) {
            const CopyRows job = copy_job({.source = table + offset,
                                           .target = table,
                                           .source_rows = nullptr,
                                           .target_rows = nullptr,
                                           .count = 1,
                                           .columns = bytes,
                                           .source_stride = bytes,
                                           .target_stride = bytes,
                                           .source_type = marius_bytes,
                                           .target_type = marius_bytes,
                                           .index_bytes = 8,
                                           .max_sms = 0,
                                           .sm_flags = nullptr});
            LineMemory memory;
            for (memory.thread = 0; memory.thread < 32; ++memory.thread)
                copy_rows<Vector<std::uint32_t, 4>, Vector<std::uint32_t, 4>>(
                    job, {.block = 0, .blocks = 1, .thread = memory.thread, .threads = 32}, memory);
            CHECK(static_cast<int>(memory.lines.size()) == bytes / 128 + (offset > 0));
        }
}

// 2^32 floats and more: nothing is reduced to 32 bits on the way.
void a_table_beyond_four_billion_elements() {
    constexpr std::int64_t columns = 100, stride = 400, rows = 48'000'000;
    void* const table = mmap(nullptr, rows * stride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(table != MAP_FAILED);
    static_assert(columns * rows > (std::int64_t{1} << 32));
    const std::int64_t there[] = {rows - 1, 42'949'673, 21'474'837, 0};
    std::vector<float> block(4 * columns), back(4 * columns);
    std::iota(block.begin(), block.end(), 1.0f);
    marius_cuda_copy_rows args = {.source = block.data(),
                                  .target = table,
                                  .source_rows = nullptr,
                                  .target_rows = there,
                                  .count = 4,
                                  .columns = columns,
                                  .source_stride = stride,
                                  .target_stride = stride,
                                  .source_type = marius_float32,
                                  .target_type = marius_float32,
                                  .index_bytes = 8,
                                  .max_sms = 0,
                                  .sm_flags = nullptr};
    PlainMemory memory;
    const auto copy = [&] {
        const CopyRows job = copy_job(args);
        with_vectors(job, [&](auto source, auto target) {
            run_places({.blocks = 2, .threads = 64},
                       [&](const Place& place) { copy_rows<decltype(source), decltype(target)>(job, place, memory); });
        });
    };
    copy();
    for (int i = 0; i < 4; ++i)
        CHECK(std::memcmp(static_cast<char*>(table) + there[i] * stride, &block[i * columns], stride) == 0);
    args.source = table, args.source_rows = there, args.target = back.data(), args.target_rows = nullptr;
    copy();
    CHECK(back == block);
    munmap(table, rows * stride);
}

}  // namespace

int main() {
    every_width_and_type();
    requests_lie_on_lines();
    a_table_beyond_four_billion_elements();
}
