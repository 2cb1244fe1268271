#include "layers/aggregate.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "layers/row_sums.h"

namespace marius {
namespace {

template <class In, class Out> RowSum<In, Out> function_of() {
    if constexpr (std::is_same_v<Out, float>) return row_sums().float32;
    else if constexpr (std::is_same_v<In, float>) return row_sums().rounded;
    else return row_sums().bfloat16;
}

// Rows to add up, and their weights.
template <class Number> class Terms {
public:
    void clear() { rows_.clear(), weights_.clear(); }
    void add(const Number* row, float weight) { rows_.push_back(row), weights_.push_back(weight); }

    template <class Out> void sum(RowSum<Number, Out> function, Out* out, std::int64_t dim) const {
        function(rows_.data(), weights_.data(), static_cast<std::int64_t>(rows_.size()), out, dim);
    }

private:
    std::vector<const Number*> rows_;
    std::vector<float> weights_;
};

bool inside(std::int64_t i, std::int64_t count) { return static_cast<std::uint64_t>(i) < static_cast<std::uint64_t>(count); }

template <class Index> bool well_formed(const Neighbours<Index>& graph, std::int64_t begin, std::int64_t end) {
    if (graph.indptr[begin] < 0 || graph.indptr[end] > graph.edges) return false;
    for (std::int64_t t = begin; t < end; ++t)
        if (graph.indptr[t] > graph.indptr[t + 1]) return false;
    for (std::int64_t e = graph.indptr[begin]; e < graph.indptr[end]; ++e)
        if (!inside(graph.indices[e], graph.sources)) return false;
    return true;
}

// What of the sum over its edges a target receives.
template <class Index> float share_of(const Neighbours<Index>& graph, std::int64_t t) {
    return graph.mean ? 1.0f / static_cast<float>(graph.indptr[t + 1] - graph.indptr[t]) : 1.0f;
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
            const float share = share_of(graph, t);
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

const RowSums& row_sums() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return row_sums_of_16;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return row_sums_of_8;
#endif
    return row_sums_of_4;
}

template <class Index, class In, class Out>
void neighbour_sum(const Neighbours<Index>& graph, Rows<const In> x, Rows<Out> out, std::int64_t dim, int threads) {
    if (graph.own && graph.targets > graph.sources) refuse();
    std::atomic<bool> wrong{false};
    const auto function = function_of<In, Out>();
    parallel_for(graph.targets, 128, threads, [&](std::int64_t begin, std::int64_t end) {
        if (!well_formed(graph, begin, end)) {
            wrong = true;
            return;
        }
        Terms<In> terms;
        const std::int64_t stop = graph.indptr[end];
        for (std::int64_t e = graph.indptr[begin]; e < std::min(graph.indptr[begin] + ahead, stop); ++e)
            request(x.at(graph.indices[e]), dim);
        for (std::int64_t t = begin; t < end; ++t) {
            terms.clear();
            const std::int64_t first = graph.indptr[t], last = graph.indptr[t + 1];
            const float share = share_of(graph, t);
            for (std::int64_t e = first; e < last; ++e) {
                if (e + ahead < stop) request(x.at(graph.indices[e + ahead]), dim);
                terms.add(x.at(graph.indices[e]), graph.weights ? share * graph.weights[e] : share);
            }
            if (graph.own) terms.add(x.at(t), graph.own[t]);
            terms.sum(function, out.at(t), dim);
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
    const auto function = function_of<Number, Number>();
    parallel_for(graph.sources, 256, threads, [&](std::int64_t begin, std::int64_t end) {
        Terms<Number> terms;
        const std::int64_t stop = sorted.starts[end];
        for (std::int64_t k = sorted.starts[begin]; k < std::min(sorted.starts[begin] + ahead, stop); ++k)
            request(grad.at(sorted.targets[k]), dim);
        for (std::int64_t s = begin; s < end; ++s) {
            terms.clear();
            if (s < base.count) terms.add(base.at(s), 1.0f);
            if (graph.own && s < graph.targets) terms.add(grad.at(s), graph.own[s]);
            for (std::int64_t k = sorted.starts[s]; k < sorted.starts[s + 1]; ++k) {
                if (k + ahead < stop) request(grad.at(sorted.targets[k + ahead]), dim);
                terms.add(grad.at(sorted.targets[k]), sorted.weights ? sorted.weights[k] : 1.0f);
            }
            terms.sum(function, out.at(s), dim);
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
