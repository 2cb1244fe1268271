// Does one step of a row optimizer on the records of a block, with the same bits as csrc/rows/steps.cpp.
//
// It takes two passes, because threads do not communicate. Some optimizers have one column of state for the whole row (row-wise
// Adagrad's sum, Adam's number of steps): one thread a row updates it first. Then groups of threads read it and change the
// others.
#pragma once
#include <cstdint>

#include "cuda/api.h"
#include "cuda/memory.h"
#include "cuda/place.h"
#include "rows/formulas.h"

namespace marius {

struct RowStepJob {
    float* block;
    const float* grads;
    std::int64_t count, width, dim, vectors;  // width: floats from record to record; vectors: of one row's values
    formulas::Rates rates;
    const char* optimizer;  // its name, for the host alone
    int lane_bits, vector_elements;
};

template <class Optimizer>
MARIUS_BOTH void step_rows(const RowStepJob& job, const Place& place) {
    const std::int64_t stride = place.blocks * place.threads;
    for (std::int64_t row = place.block * place.threads + place.thread; row < job.count; row += stride) {
        float* once = job.block + row * job.width + (1 + Optimizer::per_value) * job.dim;
        *once = Optimizer::row(*once, job.grads + row * job.dim, job.dim);
    }
}

template <class Optimizer, class Floats, class Memory>  // Floats: Vector
MARIUS_BOTH void step_columns(const RowStepJob& job, const Place& place, Memory& memory) {
    constexpr int per_value = Optimizer::per_value;
    const Group group(place, job.lane_bits);
    for (std::int64_t row = group.index; row < job.count; row += group.count) {
        float* record = job.block + row * job.width;
        const auto factors = Optimizer::factors(Optimizer::per_row ? record[(1 + per_value) * job.dim] : 0.0f, job.rates);
#pragma unroll 1
        for (std::int64_t vector = group.lane; vector < job.vectors; vector += group.lanes) {
            const std::int64_t column = vector * Floats::elements;
            float* const at = record + column;
            const Floats grad = memory.template load<Floats>(job.grads + row * job.dim + column);
            Floats value = memory.template load<Floats>(at), first = {}, second = {};
            if constexpr (per_value > 0) first = memory.template load<Floats>(at + job.dim);
            if constexpr (per_value > 1) second = memory.template load<Floats>(at + 2 * job.dim);
#pragma unroll
            for (int e = 0; e < Floats::elements; ++e) {
                float state[2] = {first.at[e], second.at[e]};
                Optimizer::change(value.at[e], state, grad.at[e], factors);
                first.at[e] = state[0], second.at[e] = state[1];
            }
            memory.store(at, value);
            if constexpr (per_value > 0) memory.store(at + job.dim, first);
            if constexpr (per_value > 1) memory.store(at + 2 * job.dim, second);
        }
    }
}

// Calls run(optimizer, Floats) with a job's optimizer and a type of vectors that fits its alignment.
template <class Run>
void with_kind(const RowStepJob& job, Run run) {
    formulas::with_optimizer(job.optimizer, [&](auto optimizer) {
        if (job.vector_elements == 4) run(optimizer, Vector<float, 4>{});
        else run(optimizer, Vector<float, 1>{});
    });
}

inline bool has_row_pass(const RowStepJob& job) {
    bool has = false;
    formulas::with_optimizer(job.optimizer, [&](auto optimizer) { has = optimizer.per_row > 0; });
    return has;
}

}  // namespace marius
