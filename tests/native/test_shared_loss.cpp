// Softmax among shared candidates in every way: by definition, at edges of blocks, hidden pairs, corrections, numbers that are
// none, the same bits again.
#include "score/shared_loss.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check.h"

using namespace marius;

namespace {

float rounded(float x) {  // to bfloat16, half to even
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

struct Shape {
    std::int64_t queries, chunks, count, dim;
};

constexpr std::int64_t classes = 3;

struct Case {
    Shape shape;
    std::vector<float> query, positive, candidates, positive_corrections, corrections, taken;
    std::vector<std::int64_t> hidden_queries, hidden_candidates, class_of;
    std::vector<float> losses, d_query, d_positive, d_candidates;

    Case(const Shape& given, float spread, std::int64_t hide_every, bool corrects = false) : shape(given) {
        const auto [n, chunks, k, d] = given;
        query.resize(n * d), positive.resize(n * d), candidates.resize(chunks * k * d);
        losses.resize(n), d_query.assign(n * d, 9.0f), d_positive.assign(n * d, 9.0f), d_candidates.assign(chunks * k * d, 9.0f);
        if (corrects) positive_corrections.resize(n), corrections.resize(chunks * k), taken.resize(classes * n);
        std::mt19937_64 random(n * 1000003 + k * 1009 + d);
        std::normal_distribution<float> normal(0, spread);
        for (auto* numbers : {&query, &positive, &candidates, &positive_corrections, &corrections, &taken})
            for (float& number : *numbers) number = normal(random);
        for (std::int64_t j = 0; corrects && j < chunks * k; ++j) class_of.push_back(random() % classes);
        for (std::int64_t pair = 0; hide_every > 0 && pair < n * k; pair += hide_every) {
            hidden_queries.push_back(pair / k);
            hidden_candidates.push_back(pair % k);
        }
    }

    SharedLossTerms terms{LossOfScores::softmax, 0};

    SharedLossSide side() {
        const bool corrects = !corrections.empty();
        return {{query.data(), positive.data(), shape.queries, candidates.data(), shape.chunks, shape.count, shape.dim,
                 hidden_queries.data(), hidden_candidates.data(), static_cast<std::int64_t>(hidden_queries.size()),
                 corrects ? positive_corrections.data() : nullptr, corrects ? corrections.data() : nullptr,
                 corrects ? ClassCorrection{class_of.data(), taken.data(), shape.queries} : ClassCorrection{}, terms},
                {losses.data(), d_query.data(), d_positive.data(), d_candidates.data()}};
    }

    void run(const std::string& way, int threads) { shared_loss({side()}, way, threads); }
};

void check_close(const std::vector<float>& ours, const std::vector<double>& theirs, double bound) {
    double wrong = 0, size = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        wrong += (ours[i] - theirs[i]) * (ours[i] - theirs[i]);
        size += theirs[i] * theirs[i];
    }
    CHECK(std::sqrt(wrong) <= bound * std::sqrt(size) + 1e-12);
}

void check_against_definition(const SharedLossWay& way, const Shape& shape, float spread, std::int64_t hide_every, bool corrects,
                              int threads) {
    Case one(shape, spread, hide_every, corrects);
    one.run(way.name, threads);
    const auto [n, chunks, k, d] = shape;
    std::set<std::pair<std::int64_t, std::int64_t>> hidden;
    for (std::size_t i = 0; i < one.hidden_queries.size(); ++i) hidden.emplace(one.hidden_queries[i], one.hidden_candidates[i]);
    const auto number = [&](float x) { return static_cast<double>(way.rounds ? rounded(x) : x); };
    std::vector<double> d_query(n * d), d_positive(n * d), d_candidates(chunks * k * d);
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t first = i / ((n + chunks - 1) / chunks) * k;  // of the chunk's candidates
        std::vector<double> scores(k, -std::numeric_limits<double>::infinity());
        double positive = corrects ? -one.positive_corrections[i] : 0.0;
        for (std::int64_t e = 0; e < d; ++e) positive += static_cast<double>(one.query[i * d + e]) * one.positive[i * d + e];
        double highest = positive;
        for (std::int64_t j = 0; j < k; ++j) {
            if (hidden.count({i, j})) continue;
            if (corrects) scores[j] = -one.corrections[first + j] - one.taken[one.class_of[first + j] * n + i];
            else scores[j] = 0.0;
            for (std::int64_t e = 0; e < d; ++e)
                scores[j] += number(one.query[i * d + e]) * number(one.candidates[(first + j) * d + e]);
            highest = std::max(highest, scores[j]);
        }
        double sum = std::exp(positive - highest);
        for (const double score : scores) sum += std::exp(score - highest);
        const double loss = std::log(sum) + highest - positive, own = std::exp(positive - highest) / sum - 1;
        CHECK(std::abs(one.losses[i] - loss) <= 1e-5 * (1 + std::abs(loss)));
        for (std::int64_t e = 0; e < d; ++e) {
            d_positive[i * d + e] = own * one.query[i * d + e];
            d_query[i * d + e] += own * one.positive[i * d + e];
        }
        for (std::int64_t j = 0; j < k; ++j)
            for (std::int64_t e = 0; e < d; ++e) {
                const double share = std::exp(scores[j] - highest) / sum;
                d_query[i * d + e] += share * number(one.candidates[(first + j) * d + e]);
                d_candidates[(first + j) * d + e] += share * number(one.query[i * d + e]);
            }
    }
    const double bound = way.rounds ? 8e-3 : 1e-5;  // shares are rounded too
    check_close(one.d_query, d_query, bound);
    check_close(one.d_positive, d_positive, 1e-5);
    check_close(one.d_candidates, d_candidates, bound);

    Case again(shape, spread, hide_every, corrects);
    again.run(way.name, threads);
    for (const auto& [first, second] : {std::pair{&one.d_query, &again.d_query}, {&one.d_candidates, &again.d_candidates}})
        CHECK(std::memcmp(first->data(), second->data(), first->size() * sizeof(float)) == 0);
}

// Scores of one query among two candidates, by hand: each loss, and the gradient of its positive's score.
void check_other_losses(const std::string& way) {
    const auto soft = [](double x) { return std::log1p(std::exp(x)); };
    Case one({1, 1, 2, 1}, 1, 0);
    one.query = {1}, one.positive = {0.5f}, one.candidates = {-1, 2};
    one.terms = {LossOfScores::logistic, 0.25f};
    one.run(way, 1);
    CHECK(std::abs(one.losses[0] - (soft(-0.75) + (soft(-0.75) + soft(2.25)) / 2)) <= 1e-5);
    CHECK(std::abs(one.d_positive[0] + 1 / (1 + std::exp(0.75))) <= 1e-5);
    CHECK(std::abs(one.d_candidates[1] - 0.5 / (1 + std::exp(-2.25))) <= 5e-3);
    one.terms = {LossOfScores::margin, 1};
    one.run(way, 1);
    CHECK(std::abs(one.losses[0] - 2.5 / 2) <= 1e-6);
    CHECK(one.d_positive[0] == -0.5f && one.d_candidates[0] == 0 && one.d_candidates[1] == 0.5f);
    Case many({1100, 3, 700, 33}, 0.3f, 13, true);  // sanitizers look on
    for (const auto loss : {LossOfScores::logistic, LossOfScores::margin}) {
        many.terms = {loss, 0.5f};
        many.run(way, 3);
        for (const float each : many.losses) CHECK(std::isfinite(each) && each >= 0);
    }
}

void check_extremes(const std::string& way) {
    Case all_hidden({3, 1, 5, 4}, 1, 1);
    all_hidden.run(way, 1);
    for (const float loss : all_hidden.losses) CHECK(std::abs(loss) <= 1e-6);
    for (const float gradient : all_hidden.d_candidates) CHECK(gradient == 0);
    Case broken({40, 1, 300, 8}, 1, 0);
    broken.query[8 * 7] = std::numeric_limits<float>::quiet_NaN();
    broken.run(way, 2);
    for (std::int64_t i = 0; i < 40; ++i) CHECK(std::isnan(broken.losses[i]) == (i == 7));
    Case nobody({0, 2, 7, 4}, 1, 0);
    nobody.run(way, 1);
    for (const float gradient : nobody.d_candidates) CHECK(gradient == 0);
    Case nothing({3, 1, 0, 4}, 1, 0);
    nothing.run(way, 2);
    for (const float gradient : nothing.d_query) CHECK(gradient == 0);
}

}  // namespace

int main() {
    for (const SharedLossWay& way : shared_loss_ways()) {
        std::printf("%s\n", way.name.c_str());
        check_against_definition(way, {1, 1, 1, 1}, 1, 0, false, 1);
        check_against_definition(way, {33, 1, 257, 31}, 0.5f, 7, true, 2);
        check_against_definition(way, {64, 2, 512, 32}, 0.3f, 0, false, 2);
        check_against_definition(way, {31, 3, 600, 100}, 0.3f, 50, true, 3);
        check_against_definition(way, {97, 5, 17, 65}, 1, 2, false, 2);
        check_against_definition(way, {1100, 1, 300, 17}, 0.5f, 11, false, 2);
        check_extremes(way.name);
        check_other_losses(way.name);
    }
    CHECK_THROWS(Case({1, 1, 1, 1}, 1, 0).run("abacus", 1), std::invalid_argument);
}
