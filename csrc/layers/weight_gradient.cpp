#include "layers/weight_gradient.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "layers/weight_gradient_kernels.h"

namespace marius {
namespace {

constexpr std::int64_t least_rows = 2048;  // of a thread's part

std::int64_t up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

[[maybe_unused]] void compute(const WeightGradient& task, float* weight, float* bias, int threads, WeightGradientKernel kernel) {
    const std::int64_t wide = up(task.outer, tile_rows), columns = up(task.inner, tile_columns), biases = up(wide, 32);
    const std::int64_t most = threads > 0 ? threads : default_threads();
    const std::int64_t parts = std::clamp<std::int64_t>(task.grad.count / least_rows, 1, most);
    const std::int64_t each = up((task.grad.count + parts - 1) / parts, 2 * block_pairs), size = wide * columns + biases;
    std::vector<float> sums(parts * size);
    parallel_for(parts, 1, threads, [&](std::int64_t begin, std::int64_t end) {
        const std::unique_ptr<std::uint32_t[]> packed(new std::uint32_t[block_pairs * (wide + columns)]);
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i * each, count = std::min(each, task.grad.count - first);
            if (count <= 0) continue;
            const std::int64_t at = first * task.grad.stride;
            float* own = sums.data() + i * size;
            kernel({task.grad.data + at, task.rectified ? task.rectified + at : nullptr, task.rows.at(first), count,
                    task.grad.stride, task.rows.stride, task.outer, task.inner},
                   own, own + wide * columns, packed.get());
        }
    });
    for (std::int64_t i = 1; i < parts; ++i)
        for (std::int64_t c = 0; c < size; ++c) sums[c] += sums[i * size + c];
    for (std::int64_t r = 0; r < task.outer; ++r) std::copy_n(sums.data() + r * columns, task.inner, weight + r * task.inner);
    std::copy_n(sums.data() + wide * columns, task.outer, bias);
}

}  // namespace

bool weight_gradient_usable() {
#if defined(MARIUS_BF16)
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
#else
    return false;
#endif
}

void weight_gradient([[maybe_unused]] const WeightGradient& task, [[maybe_unused]] float* weight, [[maybe_unused]] float* bias,
                     [[maybe_unused]] int threads) {
#if defined(MARIUS_BF16)
    compute(task, weight, bias, threads, add_weight_gradient);
#endif
}

}  // namespace marius
