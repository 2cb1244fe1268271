#include "score/shared_softmax.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "base/parallel.h"
#include "score/shared_softmax_parts.h"

namespace marius {
namespace {

constexpr float no_score = -3.0e38f;

struct Freed {
    void operator()(void* memory) const { std::free(memory); }
};

// An array on a boundary of 64 bytes, as tiles want it; not initialised.
template <class T> class Aligned {
public:
    explicit Aligned(std::int64_t count)
        : memory_(static_cast<T*>(std::aligned_alloc(64, (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64 + 64))) {
        if (!memory_) throw std::bad_alloc();
    }
    T* get() const { return memory_.get(); }

private:
    std::unique_ptr<T, Freed> memory_;
};

struct Thread {
    Aligned<std::uint16_t> candidates, by_row, shares, shares_by_row;
    Aligned<float> scores, d_query, highest, sum;

    Thread(std::int64_t queries, std::int64_t dim)
        : candidates(block_rows * dim), by_row(block_rows * dim), shares(block_rows * queries),
          shares_by_row(block_rows * queries), scores(block_rows * pad), d_query(queries * dim), highest(queries), sum(queries) {
        std::fill_n(highest.get(), queries, no_score);
        std::fill_n(sum.get(), queries, 0.0f);
        std::fill_n(d_query.get(), queries * dim, 0.0f);
    }
    Workspace workspace() const {
        return {candidates.get(), by_row.get(), shares.get(), shares_by_row.get(), scores.get(), d_query.get()};
    }
    Exponentials sums() const { return {highest.get(), sum.get()}; }
};

// Every thread's sums and the positive's together: the losses, and in `total` what exp(score - highest) is multiplied by.
void finish_sums(const SharedSoftmax& batch, const std::vector<Thread>& threads, const Exponentials& total,
                 const SharedSoftmaxGradients& out) {
    for (std::int64_t q = 0; q < batch.queries; ++q) {
        float highest = batch.positive[q];
        for (const Thread& thread : threads) highest = std::max(highest, thread.highest.get()[q]);
        const double own = std::exp(static_cast<double>(batch.positive[q]) - highest);
        double sum = own;
        for (const Thread& thread : threads)
            sum += thread.sum.get()[q] * std::exp(static_cast<double>(thread.highest.get()[q]) - highest);
        out.losses[q] = static_cast<float>(std::log(sum) + highest - batch.positive[q]);
        out.d_positive[q] = static_cast<float>(own / sum - 1);
        total.highest[q] = highest;
        total.sum[q] = static_cast<float>(1 / sum);
    }
    std::fill(total.highest + batch.queries, total.highest + padded(batch.queries), 0.0f);
    std::fill(total.sum + batch.queries, total.sum + padded(batch.queries), 0.0f);
}

void add_up_queries(const SharedSoftmax& batch, const std::vector<Thread>& threads, std::int64_t first, std::int64_t last,
                    float* d_query) {
    const std::int64_t deep = padded(batch.dim);
    for (std::int64_t q = first; q < last; ++q)
        for (std::int64_t d = 0; d < batch.dim; ++d) {  // blocks of (32 numbers of dim, 32 queries)
            const std::int64_t place = q / pad * pad * deep + d * pad + q % pad;
            float sum = 0;
            for (const Thread& thread : threads) sum += thread.d_query.get()[place];
            d_query[q * batch.dim + d] = sum;
        }
}

}  // namespace

bool shared_softmax_usable() {
#if defined(MARIUS_AMX)
    static const bool usable = amx::usable();
    return usable;
#else
    return false;
#endif
}

void shared_softmax(const SharedSoftmax& batch, const SharedSoftmaxGradients& out, int threads) {
    if (!shared_softmax_usable()) throw std::runtime_error("shared_softmax: this processor cannot do it");
#if defined(MARIUS_AMX)
    if (batch.queries == 0) {
        if (!out.add) std::fill_n(out.d_candidates, batch.count * batch.dim, 0.0f);
        return;
    }
    const std::int64_t queries = padded(batch.queries), dim = padded(batch.dim);
    const std::int64_t blocks = (batch.count + block_rows - 1) / block_rows;
    const std::int64_t used =
        std::clamp<std::int64_t>(threads > 0 ? threads : default_threads(), 1, std::max<std::int64_t>(blocks, 1));
    const Aligned<std::uint16_t> by_dim(queries * dim), by_query(queries * dim);
    const PackedQueries packed{by_dim.get(), by_query.get()};
    parallel_for(queries / pad, 1, threads,
                 [&](std::int64_t begin, std::int64_t end) { amx::pack_queries(batch, begin * pad, end * pad, packed); });
    std::vector<Thread> each;
    each.reserve(static_cast<std::size_t>(used));
    for (std::int64_t t = 0; t < used; ++t) each.emplace_back(queries, dim);
    // Every thread has candidates of its own, whoever runs it: sums are added in the same order each time.
    const auto edge = [&](std::int64_t part) { return std::min(batch.count, blocks * part / used * block_rows); };
    parallel_for(used, 1, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t)
            amx::add_exponentials(batch, packed, edge(t), edge(t + 1), each[t].sums(), each[t].workspace());
    });
    const Aligned<float> highest(queries), factor(queries);
    const Exponentials shares{highest.get(), factor.get()};
    finish_sums(batch, each, shares, out);
    parallel_for(used, 1, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t)
            amx::add_gradients(batch, packed, edge(t), edge(t + 1), shares, each[t].workspace(), out);
    });
    parallel_for(batch.queries, pad, threads,
                 [&](std::int64_t begin, std::int64_t end) { add_up_queries(batch, each, begin, end, out.d_query); });
#endif
}

}  // namespace marius
