// Weights' gradients from rows of bfloat16: by definition, whatever does not fill a tile, and with the same bits again.
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "check.h"
#include "layers/weight_gradient.h"

using namespace marius;

namespace {

std::mt19937_64 random_bits(17);

float widened(BrainBits bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::vector<BrainBits> random_rows(std::int64_t n) {
    std::normal_distribution<float> normal;
    std::vector<BrainBits> values(n);
    for (BrainBits& v : values) v = static_cast<BrainBits>(std::bit_cast<std::uint32_t>(normal(random_bits)) >> 16);
    return values;
}

void equal_to_the_definition(std::int64_t count, std::int64_t outer, std::int64_t inner, bool rectified, int threads) {
    const auto grad = random_rows(count * outer), seen = random_rows(count * outer), rows = random_rows(count * inner);
    const WeightGradient task{
        {grad.data(), count, outer}, {rows.data(), count, inner}, rectified ? seen.data() : nullptr, outer, inner};
    std::vector<float> weight(outer * inner, NAN), bias(outer, NAN), again(outer * inner, NAN);
    weight_gradient(task, weight.data(), bias.data(), threads);
    weight_gradient(task, again.data(), bias.data(), threads);
    CHECK(weight == again);
    for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t i = 0; i <= inner; ++i) {
            double total = 0, size = 0;
            for (std::int64_t r = 0; r < count; ++r) {
                const bool kept = !rectified || widened(seen[r * outer + o]) > 0;
                const double g = kept ? widened(grad[r * outer + o]) : 0.0, x = i < inner ? widened(rows[r * inner + i]) : 1.0;
                total += g * x, size += std::abs(g * x);
            }
            CHECK(std::abs((i < inner ? weight[o * inner + i] : bias[o]) - total) <= 1e-5 * size);
        }
}

}  // namespace

int main() {
    if (!weight_gradient_usable()) return 0;
    for (std::int64_t count : {0, 1, 2, 255, 256, 257, 515, 4500})
        for (bool rectified : {false, true})
            for (int threads : {1, 3}) {
                equal_to_the_definition(count, 1, 1, rectified, threads);
                equal_to_the_definition(count, 13, 37, rectified, threads);
                equal_to_the_definition(count, 40, 64, rectified, threads);
            }
}
