// One step of a row optimizer on the records of a block: the same bits as csrc/rows/steps.cpp.
//
// Two passes, since threads do not talk: first one thread a row brings up to date what a row has once (row-wise
// Adagrad's sum, Adam's number of steps), then groups of threads, which all read it, change the columns.
#pragma once
#include <cstdint>
#include <type_traits>

#include "cuda/api.h"
#include "cuda/memory.h"
#include "cuda/place.h"
#include "rows/formulas.h"

namespace marius {

struct RowStepJob {
    float* block;
    const float* grads;
    std::int64_t count, width, dim, vectors;  // width: floats from record to record; vectors: of one row's values
    float lr, eps, beta1, beta2;
    int kind, lane_bits, vector_elements;
};

inline bool has_row_pass(int kind) { return kind == marius_row_adagrad || kind == marius_adam; }

MARIUS_BOTH void step_rows(const RowStepJob& job, const Place& place) {
    const std::int64_t stride = place.blocks * place.threads;
    for (std::int64_t row = place.block * place.threads + place.thread; row < job.count; row += stride) {
        float* state = job.block + row * job.width + job.dim;
        if (job.kind == marius_row_adagrad) *state += formulas::mean_square(job.grads + row * job.dim, job.dim);
        else state[2 * job.dim] += 1.0f;
    }
}

template <int kind, class Floats, class Memory>  // Floats: Vector
MARIUS_BOTH void step_columns(const RowStepJob& job, const Place& place, Memory& memory) {
    const Group group(place, job.lane_bits);
    for (std::int64_t row = group.index; row < job.count; row += group.count) {
        float* record = job.block + row * job.width;
        [[maybe_unused]] const float scale =
            kind == marius_row_adagrad ? formulas::adagrad_scale(record[job.dim], job.lr, job.eps) : job.lr;
        [[maybe_unused]] formulas::AdamFactors factors = {};
        if constexpr (kind == marius_adam)
            factors = formulas::adam_factors(record[3 * job.dim], job.lr, job.beta1, job.beta2, job.eps);
#pragma unroll 1
        for (std::int64_t vector = group.lane; vector < job.vectors; vector += group.lanes) {
            const std::int64_t column = vector * Floats::elements;
            float* const at = record + column;
            const Floats grad = memory.template load<Floats>(job.grads + row * job.dim + column);
            Floats value = memory.template load<Floats>(at), first = {}, second = {};
            if constexpr (kind == marius_adagrad || kind == marius_adam) first = memory.template load<Floats>(at + job.dim);
            if constexpr (kind == marius_adam) second = memory.template load<Floats>(at + 2 * job.dim);
#pragma unroll
            for (int e = 0; e < Floats::elements; ++e) {
                if constexpr (kind == marius_adagrad)
                    formulas::adagrad(value.at[e], first.at[e], grad.at[e], job.lr, job.eps);
                else if constexpr (kind == marius_adam)
                    formulas::adam(value.at[e], first.at[e], second.at[e], grad.at[e], factors);
                else formulas::descend(value.at[e], grad.at[e], scale);
            }
            memory.store(at, value);
            if constexpr (kind == marius_adagrad || kind == marius_adam) memory.store(at + job.dim, first);
            if constexpr (kind == marius_adam) memory.store(at + 2 * job.dim, second);
        }
    }
}

// Calls run(kind, Floats) with the kind as an integral_constant and the vectors that fit a job.
template <class Run>
void with_kind(const RowStepJob& job, Run run) {
    const auto of_kind = [&](auto kind) {
        if (job.vector_elements == 4) run(kind, Vector<float, 4>{});
        else run(kind, Vector<float, 1>{});
    };
    if (job.kind == marius_sgd) of_kind(std::integral_constant<int, marius_sgd>{});
    else if (job.kind == marius_row_adagrad) of_kind(std::integral_constant<int, marius_row_adagrad>{});
    else if (job.kind == marius_adagrad) of_kind(std::integral_constant<int, marius_adagrad>{});
    else of_kind(std::integral_constant<int, marius_adam>{});
}

}  // namespace marius
