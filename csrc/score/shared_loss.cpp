#include "score/shared_loss.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "base/aligned.h"
#include "base/parallel.h"
#include "score/shared_loss_kernels.h"

namespace marius {
namespace {

constexpr std::int64_t scores_at_once = 8 << 20;  // 32 MiB of scores are in memory, at most, beside one block of queries'
constexpr std::int64_t slices_of_thread = 4;      // where chunks are few: a thread that is late leaves some to others
constexpr std::int64_t least_slice = 96;          // candidates

std::int64_t parts(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

// A query with its own positive: the scores are inner products.
float inner(const float* left, const float* right, std::int64_t dim) {
    constexpr std::int64_t lanes = 16;
    float sums[lanes] = {};
    const std::int64_t whole = dim / lanes * lanes;
    for (std::int64_t d = 0; d < whole; d += lanes)
        for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += left[d + lane] * right[d + lane];
    for (std::int64_t d = whole; d < dim; ++d) sums[d - whole] += left[d] * right[d];
    for (std::int64_t half = lanes / 2; half > 0; half /= 2)
        for (std::int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    return sums[0];
}

void scale(float factor, const float* __restrict from, std::int64_t count, float* __restrict to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = factor * from[i];
}

ClassCorrection by_class_from(const ClassCorrection& all, std::int64_t query, std::int64_t candidate) {
    return all.classes ? ClassCorrection{all.classes + candidate, all.taken + query, all.queries} : ClassCorrection{};
}

Chunk chunk_of(const SharedLoss& batch, std::int64_t chunk) {
    const std::int64_t first = std::min(batch.queries, chunk * batch.in_chunk());
    const std::int64_t last = std::min(batch.queries, first + batch.in_chunk());
    const auto* begin = std::lower_bound(batch.hidden_queries, batch.hidden_queries + batch.hidden, first);
    const auto* end = std::lower_bound(begin, batch.hidden_queries + batch.hidden, last);
    return {batch.query + first * batch.dim,
            last - first,
            batch.candidates + chunk * batch.count * batch.dim,
            batch.count,
            batch.dim,
            batch.corrections ? batch.corrections + chunk * batch.count : nullptr,
            by_class_from(batch.by_class, first, chunk * batch.count),
            begin,
            batch.hidden_candidates + (begin - batch.hidden_queries),
            end - begin,
            first,
            batch.terms};
}

// The candidates of a chunk in slices. With the scores of a group of queries, each slice is one thread's work.
class ChunkWork {
public:
    ChunkWork(const SharedLossKernel& kernel, const SharedLoss& batch, std::int64_t slices, std::int64_t blocks)
        : kernel_(kernel), slices_(slices), blocks_(blocks), units_(parts(batch.count, kernel.unit)),
          sizes_(kernel.sizes(std::min(batch.count, parts(units_, slices) * kernel.unit), batch.dim, blocks)),
          packed_(kernel.packed(batch.dim, blocks)) {
        for (std::int64_t slice = 0; slice < slices; ++slice) rooms_.emplace_back(sizes_);
    }

    // Compute a chunk of a side that has the shape of the batch.
    void run(const SharedLossSide& side, std::int64_t number, int threads) {
        batch_ = side.batch, out_ = side.out;
        const Chunk chunk = chunk_of(batch_, number);
        float* d_candidates = out_.d_candidates + number * batch_.count * batch_.dim;
        if (chunk.queries == 0) std::fill_n(d_candidates, batch_.count * batch_.dim, 0.0f);
        const std::int64_t group_queries = blocks_ * kernel_.block;
        for (std::int64_t first = 0; first < chunk.queries; first += group_queries) {
            const std::int64_t queries = std::min(group_queries, chunk.queries - first), blocks = parts(queries, kernel_.block);
            const Group group{first, queries, blocks, packed_.get(), positive_};
            kernel_.pack(chunk, first, blocks, packed_.get());
            for (std::int64_t query = 0; query < blocks * kernel_.block; ++query)
                positive_[query] = query < queries ? score_of_positive(chunk.first_query + first + query) : 0.0f;
            const auto make_shares = [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t slice = begin; slice < end; ++slice)
                    kernel_.shares(chunk, group, edge(slice), edge(slice + 1), rooms_[slice].pointers());
            };
            parallel_for(slices_, 1, threads, std::cref(make_shares));  // by reference: nothing is allocated in a thread
            for (std::int64_t query = 0; query < blocks * kernel_.block; ++query) finish(chunk, group, query);
            const auto make_gradients = [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t item = begin; item < end; ++item)
                    if (item < slices_)
                        kernel_.gradients(chunk, group, edge(item), edge(item + 1), rooms_[item].pointers(), d_candidates,
                                          first > 0);
                    else put_queries(chunk, group, item - slices_);
            };
            parallel_for(slices_ + blocks, 1, threads, std::cref(make_gradients));
        }
    }

private:
    struct Room {
        Aligned<float> scores, pairs, d_query, weighted, by_dim, by_row, reference, sum, factor;

        explicit Room(const ScoreRoomSizes& sizes)
            : scores(sizes.scores), pairs(sizes.pairs), d_query(sizes.d_query), weighted(sizes.weighted), by_dim(sizes.by_dim),
              by_row(sizes.by_row), reference(sizes.of_query), sum(sizes.of_query), factor(sizes.of_query) {}
        ScoreRoom pointers() const {
            return {scores.get(), pairs.get(),     d_query.get(), weighted.get(), by_dim.get(),
                    by_row.get(), reference.get(), sum.get(),     factor.get()};
        }
    };

    std::int64_t edge(std::int64_t slice) const { return std::min(batch_.count, units_ * slice / slices_ * kernel_.unit); }

    float score_of_positive(std::int64_t number) const {
        const float score = inner(batch_.query + number * batch_.dim, batch_.positive + number * batch_.dim, batch_.dim);
        return batch_.positive_corrections ? score - batch_.positive_corrections[number] : score;
    }

    // The loss of a query, the gradient of its positive's score, and each slice's factor.
    void finish(const Chunk& chunk, const Group& group, std::int64_t query) {
        if (query >= group.queries) {
            for (Room& room : rooms_) room.factor.get()[query] = 0;
            return;
        }
        float& loss = out_.losses[chunk.first_query + group.first + query];
        switch (batch_.terms.loss) {
            case LossOfScores::softmax: return finish_softmax(query, loss);
            case LossOfScores::logistic: return finish_logistic(query, loss);
            case LossOfScores::margin: return finish_margin(query, loss);
        }
    }

    // Every slice's sum and the positive's together.
    void finish_softmax(std::int64_t query, float& loss) {
        const float positive = positive_[query];
        float highest = positive;
        for (const Room& room : rooms_) highest = std::max(highest, room.reference.get()[query]);
        const double own = std::exp(static_cast<double>(positive) - highest);
        double sum = own;
        for (const Room& room : rooms_)
            sum += room.sum.get()[query] * std::exp(static_cast<double>(room.reference.get()[query]) - highest);
        for (Room& room : rooms_)
            room.factor.get()[query] =
                static_cast<float>(std::exp(static_cast<double>(room.reference.get()[query]) - highest) / sum);
        loss = static_cast<float>(std::log(sum) + highest - positive);
        d_positive_[query] = static_cast<float>(own / sum - 1);
    }

    void finish_logistic(std::int64_t query, float& loss) {
        const double positive = static_cast<double>(positive_[query]) + batch_.terms.margin;
        const double missed = std::max(-positive, 0.0) + std::log1p(std::exp(-std::abs(positive)));
        loss = static_cast<float>(missed + mean_of_candidates(query));
        d_positive_[query] = static_cast<float>(-1 / (1 + std::exp(positive)));
    }

    void finish_margin(std::int64_t query, float& loss) {
        double counted = 0;
        for (const Room& room : rooms_) counted += room.reference.get()[query];
        loss = static_cast<float>(mean_of_candidates(query));
        d_positive_[query] = static_cast<float>(-counted / candidates());
    }

    // What the candidates add to a loss that takes their mean.
    double mean_of_candidates(std::int64_t query) {
        double sum = 0;
        for (const Room& room : rooms_) sum += room.sum.get()[query];
        for (Room& room : rooms_) room.factor.get()[query] = static_cast<float>(1 / candidates());
        return sum / candidates();
    }

    double candidates() const { return static_cast<double>(std::max<std::int64_t>(batch_.count, 1)); }

    // The gradients of a block's queries, and of their positives.
    void put_queries(const Chunk& chunk, const Group& group, std::int64_t block) {
        const std::int64_t last = std::min(group.queries, (block + 1) * kernel_.block);
        for (std::int64_t query = block * kernel_.block; query < last; ++query) {
            const std::int64_t row = (chunk.first_query + group.first + query) * batch_.dim;
            scale(d_positive_[query], batch_.positive + row, batch_.dim, out_.d_query + row);
            scale(d_positive_[query], batch_.query + row, batch_.dim, out_.d_positive + row);
        }
        for (const Room& room : rooms_)
            kernel_.add_queries(chunk, group, block, room.pointers(), out_.d_query + chunk.first_query * batch_.dim);
    }

    const SharedLossKernel& kernel_;
    SharedLoss batch_;
    SharedLossGradients out_;
    const std::int64_t slices_, blocks_, units_;
    const ScoreRoomSizes sizes_;
    Aligned<float> packed_;
    std::vector<Room> rooms_;
    float d_positive_[most_blocks * most_block] = {}, positive_[most_blocks * most_block] = {};
};

void compute(const SharedLossKernel& kernel, const std::vector<SharedLossSide>& sides, int threads) {
    const SharedLoss& batch = sides.front().batch;
    const std::int64_t used = threads > 0 ? threads : default_threads(), chunks = batch.chunks;
    const std::int64_t shared = chunks >= used
                                    ? 1  // slices, for threads to share the work
                                    : std::clamp<std::int64_t>(parts(slices_of_thread * used, chunks), 1,
                                                               std::max<std::int64_t>(parts(batch.count, least_slice), 1));
    const std::int64_t slices = std::max(shared, parts(batch.count, kernel.slice_rows(batch.dim)));
    const std::int64_t at_once = shared == 1 ? std::min(used, chunks) : 1;  // chunks
    const std::int64_t fitting =
        scores_at_once * kernel.shares_of_word / (at_once * std::max<std::int64_t>(1, batch.count) * kernel.block);
    const std::int64_t blocks =
        std::clamp<std::int64_t>(fitting, 1, std::clamp<std::int64_t>(parts(batch.in_chunk(), kernel.block), 1, kernel.blocks));
    if (shared > 1) {
        ChunkWork work(kernel, batch, slices, blocks);
        for (const SharedLossSide& side : sides)
            for (std::int64_t chunk = 0; chunk < chunks; ++chunk) work.run(side, chunk, threads);
        return;
    }
    std::vector<ChunkWork> works;
    works.reserve(static_cast<std::size_t>(at_once));
    for (std::int64_t place = 0; place < at_once; ++place) works.emplace_back(kernel, batch, slices, blocks);
    // Whoever is free takes the next chunk of any side: it depends on no other, and threads wait for each other once.
    std::atomic<std::int64_t> next{0};
    const std::int64_t all = chunks * static_cast<std::int64_t>(sides.size());
    parallel_for(at_once, 1, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t place = begin; place < end; ++place)
            for (std::int64_t chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < all;)
                works[place].run(sides[chunk / chunks], chunk % chunks, 1);
    });
}

const SharedLossKernel* kernel_named(const std::string& name) {
#if defined(__x86_64__)
#if defined(MARIUS_AMX)
    if (name == shared_loss_amx.name) return &shared_loss_amx;
#endif
#if defined(MARIUS_BF16)
    if (name == shared_loss_bf16.name) return &shared_loss_bf16;
#endif
    if (name == shared_loss_of_16.name) return &shared_loss_of_16;
    if (name == shared_loss_of_8.name) return &shared_loss_of_8;
#endif
    return name == shared_loss_of_4.name ? &shared_loss_of_4 : nullptr;
}

}  // namespace

const std::vector<SharedLossWay>& shared_loss_ways() {
    static const std::vector<SharedLossWay> ways = [] {
        std::vector<SharedLossWay> found;
#if defined(MARIUS_AMX)
        if (amx_usable()) found.push_back({shared_loss_amx.name, true});
#endif
#if defined(__x86_64__)
#if defined(MARIUS_BF16)
        if (__builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw"))
            found.push_back({shared_loss_bf16.name, true});
#endif
        if (__builtin_cpu_supports("avx512f")) found.push_back({shared_loss_of_16.name, false});
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back({shared_loss_of_8.name, false});
#endif
        found.push_back({shared_loss_of_4.name, false});
        return found;
    }();
    return ways;
}

void shared_loss(const std::vector<SharedLossSide>& sides, const std::string& way, int threads) {
    const auto& ways = shared_loss_ways();
    if (std::none_of(ways.begin(), ways.end(), [&](const SharedLossWay& each) { return each.name == way; }))
        throw std::invalid_argument("shared_loss: this processor has no way \"" + way + "\"");
    if (!sides.empty()) compute(*kernel_named(way), sides, threads);
}

}  // namespace marius
