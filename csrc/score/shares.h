// What the scores of a block of queries become, a candidate at a time: the loss that they add, and what is multiplied with candidates
// and queries to make gradients. Included by files that are compiled for one kind of vectors.
#pragma once
#include "score/products.h"
#include "score/shared_loss_kernels.h"

namespace marius {
namespace {  // a copy for each file

constexpr float no_score = -3.0e38f;

inline Lanes chosen(Bits where, Lanes yes, Lanes no) { return (Lanes)(((Bits)yes & where) | ((Bits)no & ~where)); }

// x where it is positive, 0 where it is not, NaN where it is none.
inline Lanes positive_part(Lanes x) { return chosen(x <= Lanes{}, Lanes{}, x); }

// exp(score - the highest), of which the softmax is made.
struct SoftmaxShare {
    Lanes top[pair], sums[pair] = {}, totals[pair] = {};

    SoftmaxShare(const float* scores, std::int64_t rows, const SharedLossTerms&, const float*) {
        for (int v = 0; v < pair; ++v) top[v] = all(no_score);
        for (std::int64_t row = 0; row < rows; ++row)
            for (int v = 0; v < pair; ++v) top[v] = larger(load(scores + row * block_queries + v * width), top[v]);
    }
    Lanes operator()(Lanes score, int v) {
        const Lanes share = exp_of(score - top[v]);
        sums[v] += share;
        return share;
    }
    void end_turn() {
        for (int v = 0; v < pair; ++v) {
            totals[v] += sums[v];
            sums[v] = Lanes{};
        }
    }
    Lanes reference(int v) const { return top[v]; }
};

// The logistic function of margin + score. The logarithm of a product stands for a sum of logarithms: one for each turn.
struct LogisticShare {
    Lanes margin, sums[pair] = {}, products[pair], totals[pair] = {};

    LogisticShare(const float*, std::int64_t, const SharedLossTerms& terms, const float*) : margin(all(terms.margin)) {
        for (int v = 0; v < pair; ++v) products[v] = all(1.0f);
    }
    Lanes operator()(Lanes score, int v) {
        const Lanes x = score + margin, small = exp_of((Lanes)((Bits)x | sign_bit)), inverse = all(1.0f) / (all(1.0f) + small);
        sums[v] += positive_part(x);
        products[v] *= all(1.0f) + small;
        return chosen(x >= Lanes{}, inverse, small * inverse);
    }
    void end_turn() {
        for (int v = 0; v < pair; ++v) {
            float numbers[width];
            store(numbers, products[v]);
            for (float& number : numbers) number = __builtin_logf(number);
            totals[v] += sums[v] + load(numbers);
            sums[v] = Lanes{};
            products[v] = all(1.0f);
        }
    }
    Lanes reference(int) const { return Lanes{}; }
};

// 1 where margin + score - the positive's is above 0: these add to the loss. The reference counts them, in turns as sums are:
// float32 counts ones up to 2^24.
struct MarginShare {
    Lanes least[pair], sums[pair] = {}, ones[pair] = {}, counts[pair] = {}, totals[pair] = {};

    MarginShare(const float*, std::int64_t, const SharedLossTerms& terms, const float* positive) {
        for (int v = 0; v < pair; ++v) least[v] = load(positive + v * width) - all(terms.margin);
    }
    Lanes operator()(Lanes score, int v) {
        const Lanes x = score - least[v], share = chosen(x > Lanes{}, all(1.0f), Lanes{});
        sums[v] += positive_part(x);
        ones[v] += share;
        return share;
    }
    void end_turn() {
        for (int v = 0; v < pair; ++v) {
            totals[v] += sums[v];
            counts[v] += ones[v];
            sums[v] = ones[v] = Lanes{};
        }
    }
    Lanes reference(int v) const { return counts[v]; }
};

}  // namespace
}  // namespace marius
