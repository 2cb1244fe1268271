// The row optimizers, for CPU and GPU: names, options, state, and the formulas of a step. Both do the same operations in the same
// order and round each once, because no products and sums are fused. So they give the same bits, but for the payload of NaNs.
#pragma once
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/both.h"

namespace marius::formulas {

MARIUS_BOTH float root(float x) {
#if defined(__CUDA_ARCH__)
    return __fsqrt_rn(x);
#else
    return __builtin_sqrtf(x);
#endif
}

MARIUS_BOTH double root(double x) {
#if defined(__CUDA_ARCH__)
    return __dsqrt_rn(x);
#else
    return __builtin_sqrt(x);
#endif
}

// base to the power of a count of steps, by repeated squaring. A float counts to 2^24 and stays there.
MARIUS_BOTH double power(double base, float steps) {
    double result = 1.0;
    for (std::uint32_t n = !(steps > 0.0f)       ? 0
                           : steps < 16777216.0f ? static_cast<std::uint32_t>(steps)
                                                 : 16777216;
         n; n >>= 1, base *= base)
        if (n & 1) result *= base;
    return result;
}

// Sixteen partial sums in a fixed order: the same result for every vector width.
MARIUS_BOTH float sum_of_squares(const float* x, std::int64_t n) {
    float lanes[16] = {};
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16)
#pragma unroll
        for (int lane = 0; lane < 16; ++lane) lanes[lane] += x[i + lane] * x[i + lane];
#pragma unroll
    for (int lane = 0; lane < 16; ++lane)
        if (i + lane < n) lanes[lane] += x[i + lane] * x[i + lane];
#pragma unroll
    for (int bit = 3; bit >= 0; --bit)
#pragma unroll
        for (int lane = 0; lane < 8; ++lane)
            if (lane < 1 << bit) lanes[lane] += lanes[lane + (1 << bit)];
    return lanes[0];
}

MARIUS_BOTH float mean_square(const float* grad, std::int64_t dim) {
    return dim > 0 ? sum_of_squares(grad, dim) / static_cast<float>(dim) : 0.0f;
}

struct Option {
    const char* name;
    float usual;
};

struct Rates {
    float lr;
    float options[4];  // in the order in which an optimizer names them
};

// A row optimizer is one struct. Its state has `per_value` columns (at most 2) for each value, then `per_row` (at most 1)
// for the row, all 0 at first. A step consists of
//   row(once, grad, dim)           the new value of the row's own column; only where there is one
//   factors(once, rates)           numbers that all values of the row share, computed from that column
//   change(value, state, grad, f)  changes one value and its columns of state
// Names, records, configuration and the steps on CPU and GPU follow from the struct. To add an optimizer, write its struct and
// put its name into MARIUS_ROW_OPTIMIZERS.

// value -= lr * g.
struct Sgd {
    static constexpr const char* name = "sgd";
    static constexpr int per_value = 0, per_row = 0;
    static constexpr std::array<Option, 0> options = {};
    using Factors = float;
    MARIUS_BOTH static Factors factors(float, const Rates& rates) { return rates.lr; }
    MARIUS_BOTH static void change(float& value, float*, float grad, const Factors& scale) { value -= scale * grad; }
};

// once += mean of g^2 over the row; value -= lr * g / (sqrt(once) + eps). As in PyTorch-BigGraph (Lerer et al., MLSys 2019):
// 4 bytes of state a row instead of 4 a value.
struct RowAdagrad {
    static constexpr const char* name = "row_adagrad";
    static constexpr int per_value = 0, per_row = 1;
    static constexpr std::array<Option, 1> options = {{{"eps", 1e-10f}}};
    using Factors = float;
    MARIUS_BOTH static float row(float once, const float* grad, std::int64_t dim) { return once + mean_square(grad, dim); }
    MARIUS_BOTH static Factors factors(float once, const Rates& rates) { return rates.lr / (root(once) + rates.options[0]); }
    MARIUS_BOTH static void change(float& value, float*, float grad, const Factors& scale) { value -= scale * grad; }
};

// state += g^2; value -= lr * g / (sqrt(state) + eps). Adagrad (Duchi et al., JMLR 2011), like torch.optim.Adagrad.
struct Adagrad {
    static constexpr const char* name = "adagrad";
    static constexpr int per_value = 1, per_row = 0;
    static constexpr std::array<Option, 1> options = {{{"eps", 1e-10f}}};
    using Factors = Rates;
    MARIUS_BOTH static Factors factors(float, const Rates& rates) { return rates; }
    MARIUS_BOTH static void change(float& value, float* state, float grad, const Factors& f) {
        state[0] += grad * grad;
        value -= f.lr * grad / (root(state[0]) + f.options[0]);
    }
};

// Adam (Kingma & Ba, ICLR 2015): first moments, second moments, and the row's own number of steps, which corrects their bias.
// Moments change, and steps count, only when a row is in a batch.
struct Adam {
    static constexpr const char* name = "adam";
    static constexpr int per_value = 2, per_row = 1;
    static constexpr std::array<Option, 3> options = {{{"beta1", 0.9f}, {"beta2", 0.999f}, {"eps", 1e-8f}}};
    struct Factors {
        float beta1, beta2, eps, rate, root;  // rate: lr over the first correction; root: sqrt of the second one
    };
    MARIUS_BOTH static float row(float once, const float*, std::int64_t) { return once + 1.0f; }
    MARIUS_BOTH static Factors factors(float steps, const Rates& rates) {
        const float beta1 = rates.options[0], beta2 = rates.options[1];
        const double first = 1.0 - power(beta1, steps), second = 1.0 - power(beta2, steps);
        return {beta1, beta2, rates.options[2], static_cast<float>(rates.lr / first), static_cast<float>(formulas::root(second))};
    }
    MARIUS_BOTH static void change(float& value, float* state, float grad, const Factors& f) {
        state[0] = f.beta1 * state[0] + (1.0f - f.beta1) * grad;
        state[1] = f.beta2 * state[1] + (1.0f - f.beta2) * (grad * grad);
        value -= f.rate * state[0] / (formulas::root(state[1]) / f.root + f.eps);
    }
};

#define MARIUS_ROW_OPTIMIZERS(DO) DO(Sgd) DO(RowAdagrad) DO(Adagrad) DO(Adam)

template <class Optimizer> constexpr std::int64_t state_columns(std::int64_t dim) {
    static_assert(Optimizer::per_value <= 2 && Optimizer::per_row <= 1 && Optimizer::options.size() <= 4);
    return Optimizer::per_value * dim + Optimizer::per_row;
}

// Updates a row's own column, and returns the factors that its values share.
template <class Optimizer>
MARIUS_BOTH typename Optimizer::Factors factors_now(float* once, const float* grad, std::int64_t dim, const Rates& rates) {
    if constexpr (Optimizer::per_row) *once = Optimizer::row(*once, grad, dim);
    return Optimizer::factors(Optimizer::per_row ? *once : 0.0f, rates);
}

// Calls run(optimizer) for each of them.
template <class Run> void each_optimizer(Run run) {
#define MARIUS_RUN(Optimizer) run(Optimizer{});
    MARIUS_ROW_OPTIMIZERS(MARIUS_RUN)
#undef MARIUS_RUN
}

// Calls run(optimizer) for the optimizer of that name. Returns whether there is one.
template <class Run> bool with_optimizer(std::string_view name, Run run) {
    bool found = false;
    each_optimizer([&](auto optimizer) {
        if (name != optimizer.name) return;
        found = true;
        run(optimizer);
    });
    return found;
}

// Throws std::invalid_argument for a name that is no optimizer's.
inline void check_optimizer(std::string_view name) {
    std::string all;
    each_optimizer([&](auto optimizer) { all += (all.empty() ? "" : ", ") + std::string(optimizer.name); });
    if (!with_optimizer(name, [](auto) {})) throw std::invalid_argument("row step '" + std::string(name) + "' is none of " + all);
}

// Returns the learning rate with the default options of the optimizer of that name.
inline Rates usual_rates(std::string_view name, float lr) {
    check_optimizer(name);
    Rates rates = {lr, {}};
    with_optimizer(name, [&](auto optimizer) {
        int at = 0;
        for (const Option& option : optimizer.options) rates.options[at++] = option.usual;
    });
    return rates;
}

}  // namespace marius::formulas
