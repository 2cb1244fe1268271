// Softmax among shared candidates: by definition, at edges of its blocks, hidden pairs, numbers that are none, the same bits again.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "check.h"
#include "score/shared_softmax.h"

using namespace marius;

namespace {

float rounded(float x) {  // to bfloat16, half to even
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

struct Case {
    std::int64_t queries, count, dim;
    std::vector<float> query, candidates, positive;
    std::vector<std::int64_t> hidden_queries, hidden_candidates;
    std::vector<float> losses, d_positive, d_query, d_candidates;

    Case(std::int64_t n, std::int64_t k, std::int64_t d, float spread, std::int64_t hide_every)
        : queries(n), count(k), dim(d), query(n * d), candidates(k * d), positive(n), losses(n), d_positive(n),
          d_query(n * d, 9.0f), d_candidates(k * d, 9.0f) {
        std::mt19937_64 random(n * 1000003 + k * 1009 + d);
        std::normal_distribution<float> normal(0, spread);
        for (auto* numbers : {&query, &candidates, &positive})
            for (float& number : *numbers) number = normal(random);
        for (std::int64_t pair = 0; hide_every > 0 && pair < n * k; pair += hide_every) {
            hidden_candidates.push_back(pair / n);
            hidden_queries.push_back(pair % n);
        }
    }

    void run(int threads, bool add = false) {
        shared_softmax({query.data(), queries, candidates.data(), count, dim, positive.data(), hidden_queries.data(),
                        hidden_candidates.data(), static_cast<std::int64_t>(hidden_queries.size())},
                       {losses.data(), d_positive.data(), d_query.data(), d_candidates.data(), add}, threads);
    }
};

void check_close(const std::vector<float>& ours, const std::vector<double>& theirs) {  // shares are rounded too
    double wrong = 0, size = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        wrong += (ours[i] - theirs[i]) * (ours[i] - theirs[i]);
        size += theirs[i] * theirs[i];
    }
    CHECK(std::sqrt(wrong) <= 8e-3 * std::sqrt(size) + 1e-12);
}

void check_against_definition(std::int64_t n, std::int64_t k, std::int64_t d, float spread, std::int64_t hide_every,
                              int threads) {
    Case one(n, k, d, spread, hide_every);
    one.run(threads);
    std::set<std::pair<std::int64_t, std::int64_t>> hidden;
    for (std::size_t i = 0; i < one.hidden_queries.size(); ++i) hidden.emplace(one.hidden_queries[i], one.hidden_candidates[i]);
    std::vector<double> d_query(n * d), d_candidates(k * d);
    for (std::int64_t i = 0; i < n; ++i) {
        std::vector<double> scores(k, -std::numeric_limits<double>::infinity());
        double highest = one.positive[i];
        for (std::int64_t j = 0; j < k; ++j) {
            if (hidden.count({i, j})) continue;
            scores[j] = 0;
            for (std::int64_t e = 0; e < d; ++e)
                scores[j] += static_cast<double>(rounded(one.query[i * d + e])) * rounded(one.candidates[j * d + e]);
            highest = std::max(highest, scores[j]);
        }
        double sum = std::exp(one.positive[i] - highest);
        for (const double score : scores) sum += std::exp(score - highest);
        const double loss = std::log(sum) + highest - one.positive[i];
        CHECK(std::abs(one.losses[i] - loss) <= 1e-5 * (1 + std::abs(loss)));
        CHECK(std::abs(one.d_positive[i] - (std::exp(one.positive[i] - highest) / sum - 1)) <= 1e-5);
        for (std::int64_t j = 0; j < k; ++j)
            for (std::int64_t e = 0; e < d; ++e) {
                const double share = std::exp(scores[j] - highest) / sum;
                d_query[i * d + e] += share * rounded(one.candidates[j * d + e]);
                d_candidates[j * d + e] += share * rounded(one.query[i * d + e]);
            }
    }
    check_close(one.d_query, d_query);
    check_close(one.d_candidates, d_candidates);

    Case again(n, k, d, spread, hide_every);
    again.run(threads);
    CHECK(std::memcmp(one.d_query.data(), again.d_query.data(), n * d * sizeof(float)) == 0);
    CHECK(std::memcmp(one.d_candidates.data(), again.d_candidates.data(), k * d * sizeof(float)) == 0);
    again.run(threads, true);
    for (std::int64_t i = 0; i < k * d; ++i) CHECK(again.d_candidates[i] == 2 * one.d_candidates[i]);
}

void check_extremes() {
    Case all_hidden(3, 5, 4, 1, 1);
    all_hidden.run(1);
    for (const float loss : all_hidden.losses) CHECK(std::abs(loss) <= 1e-6);
    for (const float gradient : all_hidden.d_candidates) CHECK(gradient == 0);
    Case far(2, 40, 8, 1, 0);
    far.positive = {-1e30f, 1e30f};
    far.run(1);
    CHECK(far.losses[0] > 9e29f && far.losses[1] == 0);
    Case broken(40, 300, 8, 1, 0);
    broken.query[8 * 7] = std::numeric_limits<float>::quiet_NaN();
    broken.run(2);
    for (std::int64_t i = 0; i < 40; ++i) CHECK(std::isnan(broken.losses[i]) == (i == 7));
    Case nobody(0, 7, 4, 1, 0);
    nobody.run(1);
    for (const float gradient : nobody.d_candidates) CHECK(gradient == 0);
    Case nothing(3, 0, 4, 1, 0);
    nothing.run(2);
    for (const float gradient : nothing.d_query) CHECK(gradient == 0);
}

}  // namespace

int main() {
    if (!shared_softmax_usable()) {
        std::puts("skipped: this processor has no AMX");
        return 0;
    }
    check_against_definition(1, 1, 1, 1, 0, 1);
    check_against_definition(33, 257, 31, 0.5f, 7, 2);
    check_against_definition(64, 512, 32, 0.3f, 0, 2);
    check_against_definition(31, 600, 100, 0.3f, 50, 3);
    check_against_definition(97, 17, 65, 1, 2, 2);
    check_extremes();
}
