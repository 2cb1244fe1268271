// Sums and steps of the GPU's bodies: the bits of csrc/rows.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "places.h"
#include "random.h"
#include "rows/segment_sum.h"
#include "rows/sort.h"
#include "rows/steps.h"

using namespace marius;

namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <class Run>
void with_floats(int vector_elements, Run run) {
    if (vector_elements == 4) run(Vector<float, 4>{});
    else run(Vector<float, 1>{});
}

void sums(std::int64_t dim, std::int64_t count, std::int64_t nodes, int parts, int offset) {
    const std::vector<float> grads = random_floats(count * dim + offset, -0.0f);
    std::vector<std::int64_t> rows(count);
    for (std::int64_t& row : rows) row = static_cast<std::int64_t>(random_bits() % nodes);
    const SortedRows sorted = sort_rows(rows.data(), count);
    const auto segments = static_cast<std::int64_t>(sorted.unique.size());
    std::vector<GradPart> cpu_parts;
    std::vector<marius_cuda_part> gpu_parts;
    for (std::int64_t p = 0, at = 0; p < parts; ++p) {
        const std::int64_t size = p + 1 < parts ? (count - at) / 2 : count - at;
        cpu_parts.push_back({grads.data() + offset + at * dim, size});
        gpu_parts.push_back({grads.data() + offset + at * dim, size});
        at += size;
    }
    std::vector<float> expected(segments * dim), out(segments * dim + 1, -1.0f);
    segment_sum(cpu_parts, sorted.order.data(), count, sorted.starts.data(), segments, expected.data(), dim, 1);
    const SegmentSum job = segment_sum_job({.parts = gpu_parts.data(),
                                            .part_count = parts,
                                            .order = sorted.order.data(),
                                            .starts = sorted.starts.data(),
                                            .segments = segments,
                                            .dim = dim,
                                            .out = out.data()});
    CountingMemory memory(out.data(), segments * dim * sizeof(float));
    with_floats(job.vector_elements, [&](auto floats) {
        run_places({.blocks = 2, .threads = 64}, [&](const Place& place) { segment_sum<decltype(floats)>(job, place, memory); });
    });
    CHECK(out.back() == -1.0f);
    out.pop_back();
    CHECK(same_bits(out, expected));
    CHECK(std::all_of(memory.stores.begin(), memory.stores.end(), [](int times) { return times == 1; }));
}

template <class Optimizer>
void steps(Optimizer optimizer, std::int64_t dim, std::int64_t count, std::int64_t padding, int offset) {
    const std::int64_t width = dim + formulas::state_columns<Optimizer>(dim) + padding;
    std::vector<float> block = random_floats(count * width + offset, -0.0f);
    for (float& v : block) v = std::abs(v);
    for (std::int64_t row = 0; std::is_same_v<Optimizer, formulas::Adam> && row < count; ++row)
        block[offset + row * width + 3 * dim] = static_cast<float>(row * row * row);
    std::vector<float> expected = block;
    std::vector<std::int64_t> rows(count);
    std::iota(rows.begin(), rows.end(), 0);
    const formulas::Rates rates = formulas::usual_rates(optimizer.name, 0.1f);
    for (int round = 0; round < 3; ++round) {
        const std::vector<float> grads = random_floats(count * dim, -0.0f);
        row_step(optimizer.name, {expected.data() + offset, count, width, rows.data(), count, grads.data(), dim, 1}, rates);
        marius_cuda_row_step given = {.optimizer = optimizer.name,
                                      .block = block.data() + offset,
                                      .count = count,
                                      .stride = 4 * width,
                                      .dim = dim,
                                      .grads = grads.data(),
                                      .lr = rates.lr,
                                      .options = {}};
        std::copy(std::begin(rates.options), std::end(rates.options), given.options);
        const RowStepJob job = row_step_job(given);
        CountingMemory memory(block.data(), block.size() * sizeof(float));
        const Grid grid{.blocks = 2, .threads = 64};
        CHECK(has_row_pass(job) == (Optimizer::per_row > 0));
        if constexpr (Optimizer::per_row > 0) run_places(grid, [&](const Place& place) { step_rows<Optimizer>(job, place); });
        with_kind(job, [&](auto chosen, auto floats) {
            run_places(grid, [&](const Place& place) { step_columns<decltype(chosen), decltype(floats)>(job, place, memory); });
        });
        CHECK(same_bits(block, expected));
        CHECK(std::all_of(memory.stores.begin(), memory.stores.end(), [](int times) { return times <= 1; }));
    }
}

}  // namespace

int main() {
    for (std::int64_t dim = 1; dim <= 70; ++dim) {
        sums(dim, 500, 60, 1 + static_cast<int>(dim % 8), static_cast<int>(dim % 3));
        formulas::each_optimizer([&](auto optimizer) {
            steps(optimizer, dim, 21, dim % 5, static_cast<int>(dim % 2));
            steps(optimizer, dim, 21, (4 - (3 * dim + 1) % 4) % 4, 0);
        });
    }
    sums(4, 3000, 1, 3, 0);
    sums(100, 40, 1000, 8, 0);
    steps(formulas::Adam{}, 4, 300, 3, 0);
}
