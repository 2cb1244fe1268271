// Vectors, groups and grids from sizes and alignments.
#include <stdexcept>

#include "check.h"
#include "cuda/launch.h"

using namespace marius;

namespace {

marius_cuda_copy_rows copy_of(std::int64_t columns, int source_type, int target_type, std::uintptr_t source,
                              std::uintptr_t target, std::int64_t padding) {
    const int source_size = float_bytes(source_type), target_size = float_bytes(target_type);
    return {.source = reinterpret_cast<const void*>(source),
            .target = reinterpret_cast<void*>(target),
            .source_rows = nullptr,
            .target_rows = nullptr,
            .count = 1000,
            .columns = columns,
            .source_stride = columns * source_size + padding,
            .target_stride = columns * target_size + padding,
            .source_type = source_type,
            .target_type = target_type,
            .index_bytes = 8,
            .max_sms = 8,
            .sm_flags = nullptr};
}

void vectors_divide_everything_and_are_the_largest() {
    for (std::int64_t columns = 1; columns < 80; ++columns)
        for (std::uintptr_t source : {4096, 4097, 4098, 4100, 4104})
            for (std::int64_t padding : {0, 1, 2, 4, 8}) {
                const auto a = copy_of(columns, marius_bytes, marius_bytes, source, 4096, padding);
                const CopyRows job = copy_job(a);
                const auto fits = [&](int v) { return source % v == 0 && columns % v == 0 && (columns + padding) % v == 0; };
                CHECK(fits(job.vector_elements) && job.vector_elements <= 16);
                CHECK(job.vector_elements == 16 || !fits(2 * job.vector_elements));
                CHECK(job.vectors * job.vector_elements == columns);
            }
    CHECK(copy_job(copy_of(100, marius_float32, marius_float32, 4096, 8192, 0)).vector_elements == 16);
    CHECK(copy_job(copy_of(100, marius_float32, marius_float16, 4096, 8192, 0)).vector_elements == 4);
    CHECK(copy_job(copy_of(100, marius_float32, marius_float16, 4100, 8192, 0)).vector_elements == 1);
    CHECK(copy_job(copy_of(102, marius_float16, marius_bfloat16, 4096, 8192, 0)).vector_elements == 2);
}

void groups_fit_rows() {
    static_assert(lane_bits_for(1) == 2 && lane_bits_for(4) == 2 && lane_bits_for(5) == 3);
    static_assert(lane_bits_for(16) == 4 && lane_bits_for(17) == 5 && lane_bits_for(1'000'000) == 5);
    for (std::int64_t bytes = 512; bytes < 4096; bytes += 16)
        CHECK(copy_job(copy_of(bytes, marius_bytes, marius_bytes, 4096, 4096, 0)).lane_bits == 5);
    for (std::int64_t columns : {1, 3, 8, 33, 100, 1000}) {
        const CopyRows job = copy_job(copy_of(columns, marius_float32, marius_float32, 4096, 4096, 0));
        CHECK(job.shift_mask < 1 << job.lane_bits && (job.shift_mask & (job.shift_mask + 1)) == 0);
        CHECK((job.vectors > 1 << job.lane_bits) == (job.shift_mask > 0));
    }
}

void the_indexed_side_is_the_table() {
    auto a = copy_of(1000, marius_float32, marius_float16, 4096, 4096, 0);
    const std::int64_t rows[] = {0};
    CHECK(!copy_job(a).shift_target && copy_job(a).shift_mask == 7);
    a.target_rows = rows;
    CHECK(copy_job(a).shift_target && copy_job(a).shift_mask == 15);
    a.source_rows = rows;
    CHECK(!copy_job(a).shift_target);
}

void grids_keep_to_their_cap() {
    CopyRows job = copy_job(copy_of(128, marius_float32, marius_float32, 4096, 4096, 0));
    for (std::int64_t count : {std::int64_t{1}, std::int64_t{32}, std::int64_t{33}, std::int64_t{1} << 40})
        for (int sms : {0, 1, 8, 500}) {
            job.count = count;
            const Grid grid = copy_grid(job, 132, sms);
            CHECK(grid.threads == 1024 && grid.blocks >= 1);
            CHECK(grid.blocks <= (sms == 0 || sms > 132 ? 132 : sms));
            CHECK(grid.blocks <= (count + 31) / 32);
            CHECK(count < 1 << 20 || grid.blocks == (sms == 0 || sms > 132 ? 132 : sms));
        }
    static_assert(compute_grid(std::int64_t{1} << 40, 5, 132).blocks == 132 * compute_blocks);
    static_assert(compute_grid(9, 5, 132).blocks == 2 && compute_grid(0, 5, 132).blocks == 1);
}

void misfits_are_refused() {
    const auto good = copy_of(10, marius_float32, marius_float32, 4096, 4096, 0);
    auto bad = good;
    bad.count = -1;
    CHECK_THROWS(copy_job(bad), std::invalid_argument);
    bad = good, bad.columns = (std::int64_t{1} << 28) + 1;
    CHECK_THROWS(copy_job(bad), std::invalid_argument);
    bad = good, bad.target_stride = 36;
    CHECK_THROWS(copy_job(bad), std::invalid_argument);
    bad = good, bad.target_type = marius_bytes;
    CHECK_THROWS(copy_job(bad), std::invalid_argument);
    bad = good, bad.source_type = 4;
    CHECK_THROWS(copy_job(bad), std::invalid_argument);
    bad = good, bad.max_sms = -1;
    CHECK_THROWS(copy_job(bad), std::invalid_argument);
    bad = good, bad.target_type = marius_float16, bad.source = reinterpret_cast<void*>(4098);
    CHECK_THROWS(copy_job(bad), std::invalid_argument);
    const std::pair<const char*, std::int64_t> each[] = {{"sgd", 8}, {"row_adagrad", 9}, {"adagrad", 16}, {"adam", 25}};
    for (const auto& [optimizer, needed] : each) {
        marius_cuda_row_step step = {};
        step.optimizer = optimizer, step.dim = 8, step.stride = 4 * needed;
        CHECK(row_step_job(step).width == needed);
        step.stride -= 4;
        CHECK_THROWS(row_step_job(step), std::invalid_argument);
    }
}

}  // namespace

int main() {
    vectors_divide_everything_and_are_the_largest();
    groups_fit_rows();
    the_indexed_side_is_the_table();
    grids_keep_to_their_cap();
    misfits_are_refused();
}
