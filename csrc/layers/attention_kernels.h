// What one target, or one source, takes from the rows around it, by vectors of some width; see attention.h.
#pragma once
#include <cstdint>

namespace marius {

struct Heads {
    std::int64_t count, width;  // heads, and the numbers of each
    float slope;
    const float* vector;  // (count * width)

    std::int64_t row() const { return count * width; }
};

// Weights and scores are (rows, heads). `sums` is room for a row.
template <class Number> struct AttentionFunctions {
    // Sets weights, and out.
    void (*attend)(const Heads& heads, const Number* const* rows, std::int64_t count, const Number* right, const float* kept,
                   float* weights, Number* out, float* sums);
    // From grad of out: sets `shares`, what each row's source needs for its gradient; sets d_right; adds to d_vector.
    void (*target_backward)(const Heads& heads, const Number* const* rows, std::int64_t count, const Number* right,
                            const float* kept, const float* weights, const Number* grad, float* shares, Number* d_right,
                            float* d_vector);
    // Sets out, the gradient of a source, from its targets' gradients and its share in each of them.
    void (*source_backward)(const Heads& heads, std::int64_t count, const Number* const* grads, const float* const* shares,
                            Number* out);
};

struct AttentionKernels {
    int width;                                       // numbers in a vector
    std::int64_t (*share_size)(const Heads& heads);  // numbers of a row's share
    AttentionFunctions<float> float32;
    AttentionFunctions<std::uint16_t> bfloat16;
};

#if defined(__x86_64__)
extern const AttentionKernels attention_of_16, attention_of_8;
#endif
extern const AttentionKernels attention_of_4;

}  // namespace marius
