// The softmax loss over a tile of scores, and its gradient. Each score is read once, and overwritten with its gradient once.
//
// A group of lanes has a row, and adds up in the same order each time. Rows of up to `held_floats` numbers a lane stay in
// registers in between. Longer ones are read a second time.
#pragma once
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "cuda/memory.h"
#include "cuda/place.h"

namespace marius {

inline constexpr int held_floats = 32;  // of a lane

struct SoftmaxLoss {
    float *positive, *negatives, *losses;
    std::int64_t rows, columns, vectors;  // vectors: of one row
    int vector_elements;
};

// What the exponentials of a row's scores are taken of, and come to. No exponential is larger than 1.
struct Exponentials {
    float highest, negatives, positive;  // the highest score; sum of exp(score - highest); exp(positive - highest)

    MARIUS_BOTH float share() const { return 1.0f / (negatives + positive); }
};

template <class Floats>
MARIUS_BOTH float sum_of(const Floats& numbers) {
    float sum = numbers.at[0];
#pragma unroll
    for (int e = 1; e < Floats::elements; ++e) sum += numbers.at[e];
    return sum;
}

template <class Floats>
MARIUS_BOTH float highest_of(float highest, const Floats& numbers) {  // a NaN shows in the exponentials
#pragma unroll
    for (int e = 0; e < Floats::elements; ++e) highest = fmaxf(highest, numbers.at[e]);
    return highest;
}

// A row that stays in registers. What is missing of the last vectors counts as -inf, whose exponential is 0.
template <class Floats, class Memory, class Lanes>
MARIUS_BOTH Exponentials held_row(float* scores, float positive, std::int64_t vectors, const Group& group, Memory& memory,
                                  const Lanes& lanes) {
    constexpr int count = held_floats / Floats::elements;
    Floats held[count], sums = {};
    const auto place = [&](int v) { return group.lane + (std::int64_t{v} << Lanes::bits); };
#pragma unroll
    for (int v = 0; v < count; ++v) {
#pragma unroll
        for (int e = 0; e < Floats::elements; ++e) held[v].at[e] = -INFINITY;
        if (place(v) < vectors) held[v] = memory.template load<Floats>(scores + place(v) * Floats::elements);
    }
    float highest = positive;
#pragma unroll
    for (int v = 0; v < count; ++v) highest = highest_of(highest, held[v]);
    highest = lanes.max(highest);
#pragma unroll
    for (int v = 0; v < count; ++v)
#pragma unroll
        for (int e = 0; e < Floats::elements; ++e) {
            held[v].at[e] = expf(held[v].at[e] - highest);
            sums.at[e] += held[v].at[e];
        }
    const Exponentials found{highest, lanes.sum(sum_of(sums)), expf(positive - highest)};
    const float share = found.share();
#pragma unroll
    for (int v = 0; v < count; ++v) {
#pragma unroll
        for (int e = 0; e < Floats::elements; ++e) held[v].at[e] *= share;
        if (place(v) < vectors) memory.store(scores + place(v) * Floats::elements, held[v]);
    }
    return found;
}

// A row of any length. A lane's sum refers to the highest of the scores that the lane has seen; it begins with a finite one.
template <class Floats, class Memory, class Lanes>
MARIUS_BOTH Exponentials long_row(float* scores, float positive, std::int64_t vectors, const Group& group, Memory& memory,
                                  const Lanes& lanes) {
    Floats sums = {};
    float seen = -FLT_MAX;
#pragma unroll 4
    for (std::int64_t vector = group.lane; vector < vectors; vector += group.lanes) {
        const Floats numbers = memory.template load<Floats>(scores + vector * Floats::elements);
        const float before = seen;
        seen = highest_of(seen, numbers);
        const float shrunk = expf(before - seen);
#pragma unroll
        for (int e = 0; e < Floats::elements; ++e) sums.at[e] = sums.at[e] * shrunk + expf(numbers.at[e] - seen);
    }
    const float highest = lanes.max(fmaxf(seen, positive));
    const Exponentials found{highest, lanes.sum(sum_of(sums) * expf(seen - highest)), expf(positive - highest)};
    const float share = found.share();
#pragma unroll 4
    for (std::int64_t vector = group.lane; vector < vectors; vector += group.lanes) {
        Floats numbers = memory.template load<Floats>(scores + vector * Floats::elements);
#pragma unroll
        for (int e = 0; e < Floats::elements; ++e) numbers.at[e] = expf(numbers.at[e] - highest) * share;
        memory.store(scores + vector * Floats::elements, numbers);
    }
    return found;
}

template <class Floats, bool held, class Memory, class Lanes>  // Floats: Vector
MARIUS_BOTH void softmax_loss(const SoftmaxLoss& job, const Place& place, Memory& memory, const Lanes& lanes) {
    const Group group(place, Lanes::bits);
    for (std::int64_t row = group.index; row < job.rows; row += group.count) {
        float* const scores = job.negatives + row * job.columns;
        const float positive = memory.template load<float>(job.positive + row);
        Exponentials found;
        if constexpr (held) found = held_row<Floats>(scores, positive, job.vectors, group, memory, lanes);
        else found = long_row<Floats>(scores, positive, job.vectors, group, memory, lanes);
        if (group.lane > 0) continue;  // every lane has read the positive before one knew the sum
        memory.store(job.losses + row, logf(found.negatives + found.positive) + (found.highest - positive));
        memory.store(job.positive + row, -found.negatives * found.share());  // its own share less 1
    }
}

// Calls run(Floats, held) with a type of vectors that fits a job's alignment, and whether rows stay in registers of such lanes.
template <class Lanes, class Run>
void with_form(const SoftmaxLoss& job, Run run) {
    const auto with_floats = [&](auto floats) {
        if (job.columns <= held_floats << Lanes::bits) run(floats, std::true_type{});
        else run(floats, std::false_type{});
    };
    if (job.vector_elements == 4) with_floats(Vector<float, 4>{});
    else with_floats(Vector<float, 1>{});
}

}  // namespace marius
