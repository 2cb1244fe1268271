#if defined(MARIUS_AMX)
#include "score/shared_softmax_tiles.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/aligned.h"
#include "base/parallel.h"

namespace marius {
namespace {

constexpr float no_score = -3.0e38f;

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
void finish_sums(const TileChunk& chunk, const std::vector<Thread>& threads, const Exponentials& total,
                 const TileGradients& out) {
    for (std::int64_t q = 0; q < chunk.queries; ++q) {
        float highest = chunk.positive[q];
        for (const Thread& thread : threads) highest = std::max(highest, thread.highest.get()[q]);
        const double own = std::exp(static_cast<double>(chunk.positive[q]) - highest);
        double sum = own;
        for (const Thread& thread : threads)
            sum += thread.sum.get()[q] * std::exp(static_cast<double>(thread.highest.get()[q]) - highest);
        out.losses[q] = static_cast<float>(std::log(sum) + highest - chunk.positive[q]);
        out.d_positive[q] = static_cast<float>(own / sum - 1);
        total.highest[q] = highest;
        total.sum[q] = static_cast<float>(1 / sum);
    }
    std::fill(total.highest + chunk.queries, total.highest + padded(chunk.queries), 0.0f);
    std::fill(total.sum + chunk.queries, total.sum + padded(chunk.queries), 0.0f);
}

void add_up_queries(const TileChunk& chunk, const std::vector<Thread>& threads, std::int64_t first, std::int64_t last,
                    float* d_query) {
    const std::int64_t deep = padded(chunk.dim);
    for (std::int64_t q = first; q < last; ++q)
        for (std::int64_t d = 0; d < chunk.dim; ++d) {  // blocks of (32 numbers of dim, 32 queries)
            const std::int64_t place = q / pad * pad * deep + d * pad + q % pad;
            float sum = 0;
            for (const Thread& thread : threads) sum += thread.d_query.get()[place];
            d_query[q * chunk.dim + d] = sum;
        }
}

}  // namespace

void shared_softmax_by_tiles(const TileChunk& chunk, const TileGradients& out, int threads) {
    const std::int64_t queries = padded(chunk.queries), dim = padded(chunk.dim);
    const std::int64_t blocks = (chunk.count + block_rows - 1) / block_rows;
    const std::int64_t used =
        std::clamp<std::int64_t>(threads > 0 ? threads : default_threads(), 1, std::max<std::int64_t>(blocks, 1));
    const Aligned<std::uint16_t> by_dim(queries * dim), by_query(queries * dim);
    const PackedQueries packed{by_dim.get(), by_query.get()};
    parallel_for(queries / pad, 1, threads,
                 [&](std::int64_t begin, std::int64_t end) { amx::pack_queries(chunk, begin * pad, end * pad, packed); });
    std::vector<Thread> each;
    each.reserve(static_cast<std::size_t>(used));
    for (std::int64_t t = 0; t < used; ++t) each.emplace_back(queries, dim);
    // Every thread has candidates of its own, whoever runs it: sums are added in the same order each time.
    const auto edge = [&](std::int64_t part) { return std::min(chunk.count, blocks * part / used * block_rows); };
    parallel_for(used, 1, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t)
            amx::add_exponentials(chunk, packed, edge(t), edge(t + 1), each[t].sums(), each[t].workspace());
    });
    const Aligned<float> highest(queries), factor(queries);
    const Exponentials shares{highest.get(), factor.get()};
    finish_sums(chunk, each, shares, out);
    parallel_for(used, 1, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t)
            amx::add_gradients(chunk, packed, edge(t), edge(t + 1), shares, each[t].workspace(), out);
    });
    parallel_for(chunk.queries, pad, threads,
                 [&](std::int64_t begin, std::int64_t end) { add_up_queries(chunk, each, begin, end, out.d_query); });
}

}  // namespace marius
#endif
