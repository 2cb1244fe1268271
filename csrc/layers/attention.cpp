#include "layers/attention.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "base/parallel.h"

namespace marius {
namespace {

constexpr std::int64_t chunk = 256;  // targets whose gradients of the vector are summed before they are added to the rest
constexpr std::int64_t sources_once = 256;

template <class Number> const AttentionFunctions<Number>& functions_of(const AttentionKernels& kernels) {
    if constexpr (std::is_same_v<Number, float>) return kernels.float32;
    else return kernels.bfloat16;
}

template <class Index> bool well_formed(const Attention<Index>& a) {
    if (a.targets > a.sources || a.targets > std::numeric_limits<std::int32_t>::max()) return false;
    if (a.indptr[0] < 0 || a.indptr[a.targets] > a.edges) return false;
    for (std::int64_t t = 0; t < a.targets; ++t)
        if (a.indptr[t] > a.indptr[t + 1]) return false;
    const auto sources = static_cast<std::uint64_t>(a.sources);
    return std::all_of(a.indices + a.indptr[0], a.indices + a.indptr[a.targets],
                       [&](Index s) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(s)) < sources; });
}

template <class Index> void require(const Attention<Index>& attention) {
    if (!well_formed(attention))
        throw std::invalid_argument(
            "attend: indptr or indices name edges or sources that are not there, or sources are fewer "
            "than targets");
}

// Calls body(source, place) for all that target t attends to.
template <class Index, class Body> void each_attended(const Attention<Index>& a, std::int64_t t, const Body& body) {
    std::int64_t place = a.indptr[t] + t;
    for (std::int64_t e = a.indptr[t]; e < a.indptr[t + 1]; ++e)
        if (a.indices[e] != t) body(static_cast<std::int64_t>(a.indices[e]), place++);
    body(t, place);
}

// The rows of what a target attends to; rows of targets to come are requested.
template <class Index, class Number> class Attended {
public:
    Attended(const Attention<Index>& attention, Rows<const Number> left) : attention_(attention), left_(left) {}

    const std::vector<const Number*>& of(std::int64_t t) {
        const std::int64_t dim = attention_.heads.row(), stop = attention_.indptr[attention_.targets];
        for (std::int64_t e = attention_.indptr[t]; e < attention_.indptr[t + 1]; ++e)
            if (e + ahead < stop) request(left_.at(attention_.indices[e + ahead]), dim);
        rows_.clear();
        each_attended(attention_, t, [&](std::int64_t s, std::int64_t) { rows_.push_back(left_.at(s)); });
        return rows_;
    }

private:
    const Attention<Index>& attention_;
    Rows<const Number> left_;
    std::vector<const Number*> rows_;
};

// By source: positions starts[s] .. starts[s + 1] - 1 hold the targets that attend to s, ascending, and the places.
struct Attending {
    std::vector<std::int64_t> starts;
    std::unique_ptr<std::int32_t[]> targets;
    std::unique_ptr<std::int64_t[]> places;
};

// A counting sort; each thread sorts a range of the sources, so the order never depends on their number.
template <class Index> Attending attending(const Attention<Index>& a, int threads) {
    const std::int64_t most = a.indptr[a.targets] - a.indptr[0] + a.targets;
    Attending sorted{std::vector<std::int64_t>(a.sources + 2), std::unique_ptr<std::int32_t[]>(new std::int32_t[most]),
                     std::unique_ptr<std::int64_t[]>(new std::int64_t[most])};
    std::int64_t* next = sorted.starts.data() + 1;
    const std::int64_t grain = std::max<std::int64_t>(1024, (a.sources + threads - 1) / threads);
    const auto in_ranges = [&](const auto& body) {
        parallel_for(a.sources, grain, threads, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t t = 0; t < a.targets; ++t)
                each_attended(a, t, [&](std::int64_t s, std::int64_t place) {
                    if (s >= begin && s < end) body(s, t, place);
                });
        });
    };
    in_ranges([&](std::int64_t s, std::int64_t, std::int64_t) { ++next[s + 1]; });
    for (std::int64_t s = 1; s < a.sources; ++s) next[s] += next[s - 1];
    // Now next[s] is where s's first target goes; moved on past its last, it is where those of s + 1 begin.
    in_ranges([&](std::int64_t s, std::int64_t t, std::int64_t place) {
        const std::int64_t at = next[s]++;
        sorted.targets[at] = static_cast<std::int32_t>(t);
        sorted.places[at] = place;
    });
    return sorted;
}

template <class Number> struct Around {  // what a source's gradient is made from
    std::vector<const Number*> grads;
    std::vector<const float*> shares;
};

}  // namespace

const std::vector<const AttentionKernels*>& usable_attention_kernels() {
    static const std::vector<const AttentionKernels*> usable = [] {
        std::vector<const AttentionKernels*> found;
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx512f")) found.push_back(&attention_of_16);
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(&attention_of_8);
#endif
        found.push_back(&attention_of_4);
        return found;
    }();
    return usable;
}

template <class Index, class Number>
void attend(const Attention<Index>& a, Rows<const Number> left, Rows<const Number> right, Rows<Number> out, float* weights,
            int threads, const AttentionKernels& kernels) {
    require(a);
    const auto& functions = functions_of<Number>(kernels);
    parallel_for(a.targets, 64, threads, [&](std::int64_t begin, std::int64_t end) {
        Attended<Index, Number> attended(a, left);
        std::vector<float> sums(a.heads.row()), own;
        for (std::int64_t t = begin; t < end; ++t) {
            const auto& rows = attended.of(t);
            const std::int64_t count = static_cast<std::int64_t>(rows.size()), at = (a.indptr[t] + t) * a.heads.count;
            if (!weights && own.size() < rows.size() * a.heads.count) own.resize(rows.size() * a.heads.count);
            functions.attend(a.heads, rows.data(), count, right.at(t), a.kept ? a.kept + at : nullptr,
                             weights ? weights + at : own.data(), out.at(t), sums.data());
        }
    });
}

template <class Index, class Number>
void attend_backward(const Attention<Index>& a, Rows<const Number> left, Rows<const Number> right, Rows<const Number> grad,
                     const float* weights, const AttentionGrads<Number>& grads, int threads, const AttentionKernels& kernels) {
    require(a);
    threads = threads > 0 ? threads : default_threads();
    const auto& functions = functions_of<Number>(kernels);
    const std::int64_t dim = a.heads.row(), chunks = (a.targets + chunk - 1) / chunk;
    const std::int64_t size = kernels.share_size(a.heads);
    const std::unique_ptr<float[]> shares(new float[size * (a.indptr[a.targets] + a.targets)]);
    std::vector<float> vectors(chunks * dim);
    parallel_for(chunks, 1, threads, [&](std::int64_t begin, std::int64_t end) {
        Attended<Index, Number> attended(a, left);
        for (std::int64_t t = begin * chunk; t < std::min(end * chunk, a.targets); ++t) {
            const auto& rows = attended.of(t);
            const std::int64_t place = a.indptr[t] + t, at = place * a.heads.count;
            functions.target_backward(a.heads, rows.data(), static_cast<std::int64_t>(rows.size()), right.at(t),
                                      a.kept ? a.kept + at : nullptr, weights + at, grad.at(t), shares.get() + place * size,
                                      grads.right.at(t), vectors.data() + t / chunk * dim);
        }
    });
    std::fill_n(grads.vector, dim, 0.0f);
    for (std::int64_t i = 0; i < chunks; ++i)
        for (std::int64_t c = 0; c < dim; ++c) grads.vector[c] += vectors[i * dim + c];
    const Attending sorted = attending(a, threads);
    parallel_for(a.sources, sources_once, threads, [&](std::int64_t begin, std::int64_t end) {
        Around<Number> around;
        const std::int64_t stop = sorted.starts[end];
        for (std::int64_t s = begin; s < end; ++s) {
            around.grads.clear(), around.shares.clear();
            for (std::int64_t k = sorted.starts[s]; k < sorted.starts[s + 1]; ++k) {
                if (k + ahead < stop) {
                    request(grad.at(sorted.targets[k + ahead]), dim);
                    request(shares.get() + sorted.places[k + ahead] * size, size);
                }
                around.grads.push_back(grad.at(sorted.targets[k]));
                around.shares.push_back(shares.get() + sorted.places[k] * size);
            }
            functions.source_backward(a.heads, sorted.starts[s + 1] - sorted.starts[s], around.grads.data(), around.shares.data(),
                                      grads.left.at(s));
        }
    });
}

#define MARIUS_ATTEND(Index, Number)                                                                                   \
    template void attend(const Attention<Index>&, Rows<const Number>, Rows<const Number>, Rows<Number>, float*, int,   \
                         const AttentionKernels&);                                                                     \
    template void attend_backward(const Attention<Index>&, Rows<const Number>, Rows<const Number>, Rows<const Number>, \
                                  const float*, const AttentionGrads<Number>&, int, const AttentionKernels&);
MARIUS_ATTEND(std::int32_t, float)
MARIUS_ATTEND(std::int64_t, float)
MARIUS_ATTEND(std::int32_t, std::uint16_t)
MARIUS_ATTEND(std::int64_t, std::uint16_t)

}  // namespace marius
