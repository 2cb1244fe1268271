// Attention: by definition, by every width of vectors, and whatever the number of threads.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "check.h"
#include "layers/attention.h"
#include "random.h"

using namespace marius;

namespace {

struct Batch {
    static constexpr std::int64_t targets = 300, sources = 700;
    std::int64_t dim;
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<float> left, right, vector, grad, kept;
    Attention<std::int32_t> attention;

    Batch(std::int64_t heads, std::int64_t width) : dim(heads * width) {
        for (std::int64_t t = 0; t < targets; ++t) {
            for (std::uint64_t more = random_bits() % 50; more > 0; --more)
                indices.push_back(static_cast<std::int32_t>(random_bits() % (more % 3 ? sources : targets)));
            indptr.push_back(static_cast<std::int64_t>(indices.size()));
        }
        const auto edges = static_cast<std::int64_t>(indices.size());
        left = random_floats(sources * dim), right = random_floats(targets * dim), grad = random_floats(targets * dim);
        vector = random_floats(dim), kept = random_floats((edges + targets) * heads);
        attention = {indptr.data(), targets, indices.data(), edges, sources, {heads, width, 0.2f, vector.data()}, kept.data()};
    }
};

struct Found {
    std::vector<float> out, left, right, vector;
};

Found found(const Batch& b, int threads, const AttentionKernels& kernels) {
    Found f{std::vector<float>(b.right.size(), NAN), std::vector<float>(b.left.size(), NAN),
            std::vector<float>(b.right.size(), NAN), std::vector<float>(b.vector.size(), NAN)};
    std::vector<float> weights(b.kept.size());
    const Rows<const float> left{b.left.data(), b.sources, b.dim}, right{b.right.data(), b.targets, b.dim};
    attend<std::int32_t, float>(b.attention, left, right, {f.out.data(), b.targets, b.dim}, weights.data(), threads, kernels);
    attend_backward<std::int32_t, float>(b.attention, left, right, {b.grad.data(), b.targets, b.dim}, weights.data(),
                                         {{f.left.data(), b.sources, b.dim}, {f.right.data(), b.targets, b.dim}, f.vector.data()},
                                         threads, kernels);
    return f;
}

double leaky(double z) { return z > 0 ? z : 0.2 * z; }

// The sum of grad * out, whose gradients are those that attend_backward gives; out where it is asked for.
double product(const Batch& b, const std::vector<float>& left, const std::vector<float>& right, const std::vector<float>& vector,
               std::vector<double>* out = nullptr) {
    const Heads& heads = b.attention.heads;
    double total = 0;
    for (std::int64_t t = 0; t < b.targets; ++t) {
        std::vector<std::int64_t> seen;
        for (std::int64_t e = b.indptr[t]; e < b.indptr[t + 1]; ++e)
            if (b.indices[e] != t) seen.push_back(b.indices[e]);
        seen.push_back(t);
        for (std::int64_t h = 0; h < heads.count; ++h) {
            const std::int64_t at = h * heads.width;
            std::vector<double> exponentials;
            double sum = 0;
            for (std::int64_t s : seen) {
                double score = 0;
                for (std::int64_t c = at; c < at + heads.width; ++c)
                    score += vector[c] * leaky(static_cast<double>(left[s * b.dim + c]) + right[t * b.dim + c]);
                exponentials.push_back(std::exp(score));
                sum += exponentials.back();
            }
            for (std::size_t k = 0; k < seen.size(); ++k) {
                const double kept = b.kept[(b.indptr[t] + t + static_cast<std::int64_t>(k)) * heads.count + h];
                for (std::int64_t c = at; c < at + heads.width; ++c) {
                    const double part = exponentials[k] / sum * kept * left[seen[k] * b.dim + c];
                    total += part * b.grad[t * b.dim + c];
                    if (out) (*out)[t * b.dim + c] += part;
                }
            }
        }
    }
    return total;
}

void close(double a, double b, double scale) { CHECK(std::abs(a - b) < 1e-4 * (1 + scale)); }

// The slope of `product` where all numbers of one tensor move along a random direction.
void equal_to_the_definition(std::int64_t heads, std::int64_t width, const AttentionKernels& kernels) {
    const Batch b(heads, width);
    const Found first = found(b, 1, kernels);
    std::vector<double> out(b.right.size());
    product(b, b.left, b.right, b.vector, &out);
    for (std::size_t i = 0; i < out.size(); ++i) close(first.out[i], out[i], std::abs(out[i]));
    for (int threads : {2, 5}) {
        const Found other = found(b, threads, kernels);
        CHECK(std::memcmp(first.out.data(), other.out.data(), first.out.size() * sizeof(float)) == 0);
        CHECK(std::memcmp(first.left.data(), other.left.data(), first.left.size() * sizeof(float)) == 0);
        CHECK(std::memcmp(first.right.data(), other.right.data(), first.right.size() * sizeof(float)) == 0);
        CHECK(std::memcmp(first.vector.data(), other.vector.data(), first.vector.size() * sizeof(float)) == 0);
    }
    for (int which = 0; which < 3; ++which) {
        const std::vector<float>& from = which == 0 ? b.left : which == 1 ? b.right : b.vector;
        const std::vector<float>& slope = which == 0 ? first.left : which == 1 ? first.right : first.vector;
        const std::vector<float> direction = random_floats(static_cast<std::int64_t>(from.size()));
        const double step = 1e-5;  // few sums pass 0 on the way
        std::vector<float> above = from, below = from;
        double expected = 0, size = 0;
        for (std::size_t i = 0; i < from.size(); ++i) {
            above[i] += static_cast<float>(step) * direction[i], below[i] -= static_cast<float>(step) * direction[i];
            const double moved = (static_cast<double>(above[i]) - below[i]) / (2 * step);
            expected += slope[i] * moved, size += std::pow(slope[i] * moved, 2);
        }
        const auto at = [&](const std::vector<float>& moved) {
            return product(b, which == 0 ? moved : b.left, which == 1 ? moved : b.right, which == 2 ? moved : b.vector);
        };
        CHECK(std::abs((at(above) - at(below)) / (2 * step) - expected) < 1e-2 * (1 + std::sqrt(size)));
    }
}

void nothing_at_all(const AttentionKernels& kernels) {
    const std::int64_t indptr[] = {0};
    const float vector[] = {1, 2};
    float d_vector[] = {NAN, NAN};
    const Attention<std::int32_t> none{indptr, 0, nullptr, 0, 0, {1, 2, 0.2f, vector}, nullptr};
    attend<std::int32_t, float>(none, {}, {}, {}, nullptr, 2, kernels);
    attend_backward<std::int32_t, float>(none, {}, {}, {}, nullptr, {{}, {}, d_vector}, 2, kernels);
    CHECK(d_vector[0] == 0 && d_vector[1] == 0);
}

}  // namespace

int main() {
    for (const AttentionKernels* kernels : usable_attention_kernels()) {
        for (std::int64_t width : {1, 7, 16, 40}) equal_to_the_definition(3, width, *kernels);
        nothing_at_all(*kernels);
    }
}
