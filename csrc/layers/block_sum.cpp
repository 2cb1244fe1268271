#include "layers/block_sum.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "base/parallel.h"
#include "layers/row_sums.h"

namespace marius {
namespace {

constexpr std::int64_t targets_ahead = 3;  // targets whose rows are requested before they are summed
constexpr std::int64_t rows_ahead = 8;     // rows of each

// The terms of one target's sum.
struct BlockTerms {
    std::vector<const float*> rows;
    std::vector<float> weights;
};

template <class Id> struct BlockPass {
    const AscendingLists<Id>& lists;
    Rows<const float> block;
    std::int64_t first;
    const Factors& factors;

    // Where in the block the source of an edge is. Beyond its end where it comes in a later block; below 0: it was passed.
    std::int64_t place(std::int64_t edge) const { return static_cast<std::int64_t>(lists.sources[edge]) - first; }

    void request_rows(std::int64_t t, std::int64_t next, std::int64_t dim) const {
        const std::int64_t last = std::min(lists.indptr[t + 1], next + rows_ahead);
        for (std::int64_t e = next; e < last; ++e) {
            const std::int64_t at = place(e);
            if (at < 0 || at >= block.count) return;
            request(block.at(at), dim);
        }
    }

    // Collects the terms of t, and returns the edge after its last one in the block; -1 where its list is not right.
    std::int64_t collect(std::int64_t t, std::int64_t next, BlockTerms& terms) const {
        const std::int64_t end = lists.indptr[t + 1];
        if (next < lists.indptr[t] || next > end || end > lists.edges) return -1;
        for (; next < end; ++next) {
            const std::int64_t at = place(next);
            if (at < 0) return -1;
            if (at >= block.count) break;
            if (factors.without >= 0 && first + at == factors.without + t) continue;
            terms.rows.push_back(block.at(at));
            const float ends = factors.of_sources ? factors.of_targets[t] * factors.of_sources[at] : factors.of_targets[t];
            terms.weights.push_back(factors.of_edges ? ends * factors.of_edges[next] : ends);
        }
        return next;
    }
};

}  // namespace

template <class Id>
void add_block(const AscendingLists<Id>& lists, Rows<const float> block, std::int64_t first, const Factors& factors,
               std::int64_t* next, Rows<float> sums, std::int64_t dim, int threads) {
    const BlockPass<Id> pass{lists, block, first, factors};
    const auto sum = row_sums().float32;
    std::atomic<bool> wrong{false};
    parallel_for(lists.targets, 128, threads, [&](std::int64_t begin, std::int64_t end) {
        BlockTerms terms;
        for (std::int64_t t = begin; t < end; ++t) {
            const std::int64_t coming = t + targets_ahead;
            if (coming < end && lists.indptr[coming + 1] <= lists.edges && next[coming] >= 0)
                pass.request_rows(coming, next[coming], dim);
            terms.rows.assign(1, sums.at(t));
            terms.weights.assign(1, 1.0f);
            const std::int64_t after = pass.collect(t, next[t], terms);
            if (after < 0) {
                wrong = true;
                return;
            }
            next[t] = after;
            if (terms.rows.size() > 1)
                sum(terms.rows.data(), terms.weights.data(), static_cast<std::int64_t>(terms.rows.size()), sums.at(t), dim);
        }
    });
    if (wrong) throw std::invalid_argument("add_block: a list that is not ascending, or blocks that are not in order");
}

template void add_block(const AscendingLists<std::uint32_t>&, Rows<const float>, std::int64_t, const Factors&, std::int64_t*,
                        Rows<float>, std::int64_t, int);
template void add_block(const AscendingLists<std::uint64_t>&, Rows<const float>, std::int64_t, const Factors&, std::int64_t*,
                        Rows<float>, std::int64_t, int);

}  // namespace marius
