#include "rows/aggregate.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/parallel.h"
#include "rows/bfloat16.h"
#include "rows/vector.h"

namespace marius {
namespace {

constexpr std::int64_t ahead = 12;       // rows requested before they are added
constexpr std::int64_t lines_ahead = 8;  // cache lines of each row; the hardware prefetcher follows with the rest

// For rows of float32 and of bfloat16. Not a template: functions of several vector widths cannot be one.
#define MARIUS_ROW_SUMS(Number)                                                                             \
    MARIUS_VECTOR_CLONES                                                                                    \
    void add(float* __restrict sum, const Number* __restrict row, std::int64_t dim) {                       \
        for (std::int64_t c = 0; c < dim; ++c) sum[c] += widened(row[c]);                                   \
    }                                                                                                       \
    MARIUS_VECTOR_CLONES                                                                                    \
    void add_scaled(float* __restrict sum, const Number* __restrict row, float weight, std::int64_t dim) {  \
        for (std::int64_t c = 0; c < dim; ++c) sum[c] += weight * widened(row[c]);                          \
    }                                                                                                       \
    MARIUS_VECTOR_CLONES                                                                                    \
    void copy_scaled(float* __restrict sum, const Number* __restrict row, float weight, std::int64_t dim) { \
        for (std::int64_t c = 0; c < dim; ++c) sum[c] = weight * widened(row[c]);                           \
    }
MARIUS_ROW_SUMS(float)
MARIUS_ROW_SUMS(BrainBits)
#undef MARIUS_ROW_SUMS

MARIUS_VECTOR_CLONES
void scale(float* sum, float weight, std::int64_t dim) {
    for (std::int64_t c = 0; c < dim; ++c) sum[c] *= weight;
}

MARIUS_VECTOR_CLONES
void round_row(const float* __restrict sum, BrainBits* __restrict out, std::int64_t dim) {
    for (std::int64_t c = 0; c < dim; ++c) out[c] = rounded_to_brain(sum[c]);
}

// Where rows are added up: in the result, or beside it where the result is rounded.
class RowSum {
public:
    RowSum(const float*, std::int64_t) {}
    RowSum(const BrainBits*, std::int64_t dim) : beside_(static_cast<std::size_t>(dim)) {}

    float* of(float* out) { return out; }
    float* of(BrainBits*) { return beside_.data(); }

    void finish(float*, std::int64_t) {}
    void finish(BrainBits* out, std::int64_t dim) { round_row(beside_.data(), out, dim); }

private:
    std::vector<float> beside_;
};

template <class Number> void request(const Number* row, std::int64_t dim) {
    constexpr std::int64_t line = 64 / sizeof(Number);
    for (std::int64_t at = 0; at < std::min(dim, lines_ahead * line); at += line) __builtin_prefetch(row + at);
}

bool inside(std::int64_t i, std::int64_t count) { return static_cast<std::uint64_t>(i) < static_cast<std::uint64_t>(count); }

template <class Index> bool well_formed(const Neighbours<Index>& graph, std::int64_t begin, std::int64_t end) {
    if (graph.indptr[begin] < 0 || graph.indptr[end] > graph.edges) return false;
    for (std::int64_t t = begin; t < end; ++t)
        if (graph.indptr[t] > graph.indptr[t + 1]) return false;
    for (std::int64_t e = graph.indptr[begin]; e < graph.indptr[end]; ++e)
        if (!inside(graph.indices[e], graph.sources)) return false;
    return true;
}

[[noreturn]] void refuse() {
    throw std::invalid_argument("neighbour_sum: indptr or indices name edges or sources that are not there");
}

// Edges by their sources: positions starts[s] .. starts[s + 1] - 1 hold the targets of s's edges, in the edges' order.
struct Transposed {
    std::vector<std::int64_t> starts;
    std::unique_ptr<std::int32_t[]> targets;
    std::unique_ptr<float[]> weights;  // only where edges have them or the mean is taken
};

// A counting sort; each thread sorts a range of the sources, so the order never depends on their number.
template <class Index> Transposed transpose(const Neighbours<Index>& graph, int threads) {
    if (graph.targets > std::numeric_limits<std::int32_t>::max())
        throw std::invalid_argument("neighbour_sum: more than 2^31 - 1 targets");
    const std::int64_t edges = graph.indptr[graph.targets];
    Transposed sorted;
    sorted.starts.assign(graph.sources + 2, 0);
    sorted.targets.reset(new std::int32_t[edges]);
    if (graph.weights || graph.mean) sorted.weights.reset(new float[edges]);
    std::int64_t* next = sorted.starts.data() + 1;
    const std::int64_t grain = std::max<std::int64_t>(1024, (graph.sources + threads - 1) / threads);
    parallel_for(graph.sources, grain, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t e = graph.indptr[0]; e < edges; ++e)
            if (inside(graph.indices[e] - begin, end - begin)) ++next[graph.indices[e] + 1];
    });
    for (std::int64_t s = 1; s < graph.sources; ++s) next[s] += next[s - 1];
    // Now next[s] is where s's first edge goes; moved on past its last, it is where those of s + 1 begin.
    parallel_for(graph.sources, grain, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = 0; t < graph.targets; ++t) {
            const std::int64_t first = graph.indptr[t], last = graph.indptr[t + 1];
            const float share = graph.mean ? 1.0f / static_cast<float>(last - first) : 1.0f;
            for (std::int64_t e = first; e < last; ++e) {
                if (!inside(graph.indices[e] - begin, end - begin)) continue;
                const std::int64_t at = next[graph.indices[e]]++;
                sorted.targets[at] = static_cast<std::int32_t>(t);
                if (sorted.weights) sorted.weights[at] = graph.weights ? share * graph.weights[e] : share;
            }
        }
    });
    return sorted;
}

}  // namespace

template <class Index, class In, class Out>
void neighbour_sum(const Neighbours<Index>& graph, Rows<const In> x, Rows<Out> out, std::int64_t dim, int threads) {
    if (graph.own && graph.targets > graph.sources) refuse();
    std::atomic<bool> wrong{false};
    parallel_for(graph.targets, 128, threads, [&](std::int64_t begin, std::int64_t end) {
        if (!well_formed(graph, begin, end)) {
            wrong = true;
            return;
        }
        RowSum sums(out.data, dim);
        const std::int64_t stop = graph.indptr[end];
        for (std::int64_t e = graph.indptr[begin]; e < std::min(graph.indptr[begin] + ahead, stop); ++e)
            request(x.at(graph.indices[e]), dim);
        for (std::int64_t t = begin; t < end; ++t) {
            float* sum = sums.of(out.at(t));
            const std::int64_t first = graph.indptr[t], last = graph.indptr[t + 1];
            if (first == last) std::memset(sum, 0, dim * sizeof(float));
            for (std::int64_t e = first; e < last; ++e) {
                if (e + ahead < stop) request(x.at(graph.indices[e + ahead]), dim);
                const In* row = x.at(graph.indices[e]);
                const float weight = graph.weights ? graph.weights[e] : 1.0f;
                if (e == first) copy_scaled(sum, row, weight, dim);
                else if (graph.weights) add_scaled(sum, row, weight, dim);
                else add(sum, row, dim);
            }
            if (graph.mean && last - first > 1) scale(sum, 1.0f / static_cast<float>(last - first), dim);
            if (graph.own) add_scaled(sum, x.at(t), graph.own[t], dim);
            sums.finish(out.at(t), dim);
        }
    });
    if (wrong) refuse();
}

template <class Index, class Number>
void neighbour_sum_backward(const Neighbours<Index>& graph, Rows<const Number> grad, Rows<const Number> base, Rows<Number> out,
                            std::int64_t dim, int threads) {
    if (!well_formed(graph, 0, graph.targets) || (graph.own && graph.targets > graph.sources)) refuse();
    threads = threads > 0 ? threads : default_threads();
    const Transposed sorted = transpose(graph, threads);
    parallel_for(graph.sources, 256, threads, [&](std::int64_t begin, std::int64_t end) {
        RowSum sums(out.data, dim);
        const std::int64_t stop = sorted.starts[end];
        for (std::int64_t k = sorted.starts[begin]; k < std::min(sorted.starts[begin] + ahead, stop); ++k)
            request(grad.at(sorted.targets[k]), dim);
        for (std::int64_t s = begin; s < end; ++s) {
            float* sum = sums.of(out.at(s));
            if (s < base.count) copy_scaled(sum, base.at(s), 1.0f, dim);
            else std::memset(sum, 0, dim * sizeof(float));
            if (graph.own && s < graph.targets) add_scaled(sum, grad.at(s), graph.own[s], dim);
            for (std::int64_t k = sorted.starts[s]; k < sorted.starts[s + 1]; ++k) {
                if (k + ahead < stop) request(grad.at(sorted.targets[k + ahead]), dim);
                const Number* row = grad.at(sorted.targets[k]);
                if (sorted.weights) add_scaled(sum, row, sorted.weights[k], dim);
                else add(sum, row, dim);
            }
            sums.finish(out.at(s), dim);
        }
    });
}

#define MARIUS_FORWARD(Index, In, Out) \
    template void neighbour_sum(const Neighbours<Index>&, Rows<const In>, Rows<Out>, std::int64_t, int);
#define MARIUS_BACKWARD(Index, Number)                                                                                   \
    template void neighbour_sum_backward(const Neighbours<Index>&, Rows<const Number>, Rows<const Number>, Rows<Number>, \
                                         std::int64_t, int);
#define MARIUS_BOTH_WAYS(Index)                 \
    MARIUS_FORWARD(Index, float, float)         \
    MARIUS_FORWARD(Index, float, BrainBits)     \
    MARIUS_FORWARD(Index, BrainBits, BrainBits) \
    MARIUS_BACKWARD(Index, float)               \
    MARIUS_BACKWARD(Index, BrainBits)
MARIUS_BOTH_WAYS(std::int32_t)
MARIUS_BOTH_WAYS(std::int64_t)

}  // namespace marius
