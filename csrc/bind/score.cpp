// Scores of tiles for Python. Arrays are C-contiguous, on the CPU, of exactly these dtypes: nothing is converted.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/arrays.h"
#include "score/distances.h"
#include "score/ranks.h"
#include "score/row_products.h"
#include "score/shared_loss.h"
#include "score/softmax.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace marius::bind;

namespace {

marius::Distance distance_named(const std::string& name) {
    if (name == "l1") return marius::Distance::l1;
    if (name == "complex_l2") return marius::Distance::complex_l2;
    throw std::invalid_argument("distances: found \"" + name + "\", l1 and complex_l2 are known");
}

marius::DistanceTile tile_of(const In<float, 2>& query, const In<float, 2>& candidates) {
    require(query.shape(1) == candidates.shape(1), "distances: queries and candidates have not as many columns");
    const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    return {query.data(), size(query.shape(0)), candidates.data(), size(candidates.shape(0)), size(query.shape(1))};
}

template <class A, class B> bool same_shape(const A& a, const B& b) {
    return a.shape(0) == b.shape(0) && a.shape(1) == b.shape(1);
}

template <class Scores> void require_scores(const In<float, 2>& query, const In<float, 2>& candidates, const Scores& scores) {
    require(scores.shape(0) == query.shape(0) && scores.shape(1) == candidates.shape(0),
            "distances: scores must have a row for each query and a column for each candidate");
}

void distance_scores(const std::string& distance, In<float, 2> query, In<float, 2> candidates, Out<float, 2> scores,
                     int threads) {
    require_scores(query, candidates, scores);
    marius::distance_scores(distance_named(distance), tile_of(query, candidates), scores.data(), threads);
}

void distance_gradients(const std::string& distance, In<float, 2> query, In<float, 2> candidates, In<float, 2> d_scores,
                        Out<float, 2> d_query, Out<float, 2> d_candidates, int threads) {
    require_scores(query, candidates, d_scores);
    require(same_shape(d_query, query) && same_shape(d_candidates, candidates),
            "distances: gradients must have the shapes of queries and candidates");
    marius::distance_gradients(distance_named(distance), tile_of(query, candidates), d_scores.data(), d_query.data(),
                               d_candidates.data(), threads);
}

void complex_product(In<float, 2> left, In<float, 2> right, bool conjugate, Out<float, 2> out, int threads) {
    require(left.shape(1) % 2 == 0, "complex_product: a row has as many real parts as imaginary ones");
    require(same_shape(left, right) && same_shape(left, out), "complex_product: both factors and out must have one shape");
    marius::complex_product(left.data(), right.data(), conjugate, static_cast<std::int64_t>(left.shape(0)),
                            static_cast<std::int64_t>(left.shape(1) / 2), out.data(), threads);
}

// What is multiplied, of `rows` entities.
marius::Multiplied multiplied(const std::string& factors, bool conjugate, const In<float, 2>& entity,
                              const In<float, 2>& relations, const In<std::int64_t, 1>& ids) {
    const bool real = factors == "real";
    if (!real && factors != "complex")
        throw std::invalid_argument("queries: found factors \"" + factors + "\", real and complex are known");
    require(real || entity.shape(1) % 2 == 0, "queries: a row has as many real parts as imaginary ones");
    require(entity.shape(1) == relations.shape(1), "queries: entities and relations have not as many columns");
    require(ids.shape(0) == entity.shape(0), "queries: a relation for each entity is needed");
    const auto end = static_cast<std::int64_t>(relations.shape(0));
    require(std::all_of(ids.data(), ids.data() + ids.shape(0), [=](std::int64_t id) { return id >= 0 && id < end; }),
            "queries: relations must be rows of the table");
    return {real ? marius::Factors::real : marius::Factors::complex,
            conjugate,
            entity.data(),
            relations.data(),
            ids.data(),
            static_cast<std::int64_t>(entity.shape(0)),
            static_cast<std::int64_t>(entity.shape(1))};
}

void query_products(const std::string& factors, bool conjugate, In<float, 2> entity, In<float, 2> relations,
                    In<std::int64_t, 1> ids, Out<float, 2> query, int threads) {
    require(same_shape(query, entity), "queries: they must have the shape of entities");
    marius::query_products(multiplied(factors, conjugate, entity, relations, ids), query.data(), threads);
}

void query_gradients(const std::string& factors, bool conjugate, In<float, 2> entity, In<float, 2> relations,
                     In<std::int64_t, 1> ids, In<float, 2> grad, std::optional<In<float, 2>> also, Out<float, 2> d_entity,
                     Out<float, 2> d_relation, int threads) {
    require(same_shape(grad, entity) && same_shape(d_entity, entity) && same_shape(d_relation, entity) &&
                (!also || same_shape(*also, entity)),
            "queries: gradients must have the shape of entities");
    marius::query_gradients(multiplied(factors, conjugate, entity, relations, ids), grad.data(), also ? also->data() : nullptr,
                            d_entity.data(), d_relation.data(), threads);
}

void softmax_loss(Out<float, 1> positives, Out<float, 2> negatives, Out<float, 1> losses, int threads) {
    require(losses.shape(0) == negatives.shape(0) && positives.shape(0) == negatives.shape(0),
            "softmax_loss: a positive and a loss for each row are needed");
    marius::softmax_loss(positives.data(), negatives.data(), static_cast<std::int64_t>(negatives.shape(0)),
                         static_cast<std::int64_t>(negatives.shape(1)), losses.data(), threads);
}

// What is subtracted from the scores of positives, of each candidate, and by the candidates' classes: (classes, queries).
using Corrections = std::optional<
    std::tuple<In<float, 1>, std::optional<In<float, 2>>, std::optional<std::pair<In<std::int64_t, 2>, In<float, 2>>>>>;

void require_corrections(const Corrections& corrections, std::size_t queries, const In<float, 3>& candidates) {
    if (!corrections) return;
    const auto& [positives, each, by_class] = *corrections;
    require(positives.shape(0) == queries && (!each || same_shape(*each, candidates)) &&
                (!by_class || (same_shape(by_class->first, candidates) && by_class->second.shape(1) == queries)),
            "shared_loss: corrections are one for each query, and one or a class for each candidate of a chunk");
    if (!by_class) return;
    const auto* classes = by_class->first.data();
    require(std::all_of(
                classes, classes + by_class->first.size(),
                [count = static_cast<std::int64_t>(by_class->second.shape(0))](std::int64_t c) { return c >= 0 && c < count; }),
            "shared_loss: classes of candidates must be among those that corrections have");
}

marius::ClassCorrection taken_by_class(const Corrections& corrections) {
    if (!corrections || !std::get<2>(*corrections)) return {};
    const auto& [classes, taken] = *std::get<2>(*corrections);
    return {classes.data(), taken.data(), static_cast<std::int64_t>(taken.shape(1))};
}

marius::SharedLossTerms loss_terms(const std::string& loss, float margin) {
    if (loss == "softmax") return {marius::LossOfScores::softmax, margin};
    if (loss == "logistic") return {marius::LossOfScores::logistic, margin};
    if (loss == "margin") return {marius::LossOfScores::margin, margin};
    throw std::invalid_argument("shared_loss: there is no loss \"" + loss + "\"");
}

// query, positive, candidates; hidden queries and candidates; corrections; losses, d_query, d_positive, d_candidates.
using Side = std::tuple<In<float, 2>, In<float, 2>, In<float, 3>, In<std::int64_t, 1>, In<std::int64_t, 1>, Corrections,
                        Out<float, 1>, Out<float, 2>, Out<float, 2>, Out<float, 3>>;

marius::SharedLossSide side_of(const Side& side, const marius::SharedLossTerms& terms) {
    const auto& [query, positive, candidates, hidden_queries, hidden_candidates, corrections, losses, d_query, d_positive,
                 d_candidates] = side;
    const auto queries = query.shape(0), chunks = candidates.shape(0), count = candidates.shape(1),
               hidden = hidden_queries.shape(0);
    require(chunks > 0 && query.shape(1) == candidates.shape(2), "shared_loss: queries and candidates have not as many columns");
    require(same_shape(positive, query), "shared_loss: positives must have the shape of queries");
    require(same_shape(d_query, query) && same_shape(d_positive, query) && same_shape(d_candidates, candidates) &&
                d_candidates.shape(2) == candidates.shape(2),
            "shared_loss: gradients must have the shapes of queries, positives and candidates");
    require(losses.shape(0) == queries, "shared_loss: a loss for each query is needed");
    require(hidden_candidates.shape(0) == hidden, "shared_loss: a hidden pair is a query and a candidate");
    for (std::size_t i = 0; i < hidden; ++i) {
        const std::int64_t q = hidden_queries.data()[i], c = hidden_candidates.data()[i];
        const bool there = q >= 0 && q < static_cast<std::int64_t>(queries) && c >= 0 && c < static_cast<std::int64_t>(count);
        require(there && (i == 0 || q >= hidden_queries.data()[i - 1]),
                "shared_loss: hidden pairs must be of queries and candidates that are there, ordered by query");
    }
    require_corrections(corrections, queries, candidates);
    const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    return {
        {query.data(), positive.data(), size(queries), candidates.data(), size(chunks), size(count), size(query.shape(1)),
         hidden_queries.data(), hidden_candidates.data(), size(hidden), corrections ? std::get<0>(*corrections).data() : nullptr,
         corrections && std::get<1>(*corrections) ? std::get<1>(*corrections)->data() : nullptr, taken_by_class(corrections),
         terms},
        {losses.data(), d_query.data(), d_positive.data(), d_candidates.data()}};
}

void shared_loss(const std::string& way, const std::string& loss, float margin, const std::vector<Side>& sides, int threads) {
    std::vector<marius::SharedLossSide> found;
    found.reserve(sides.size());
    for (const Side& side : sides) found.push_back(side_of(side, loss_terms(loss, margin)));
    for (const auto& [batch, out] : found)
        require(batch.queries == found[0].batch.queries && batch.chunks == found[0].batch.chunks &&
                    batch.count == found[0].batch.count && batch.dim == found[0].batch.dim,
                "shared_loss: sides must have the same shape");
    marius::shared_loss(found, way, threads);
}

std::vector<std::tuple<std::string, bool>> shared_loss_ways() {
    std::vector<std::tuple<std::string, bool>> ways;
    for (const auto& way : marius::shared_loss_ways()) ways.emplace_back(way.name, way.rounds);
    return ways;
}

void count_answers(nb::ndarray<const float, nb::ndim<2>, nb::device::cpu> scores, In<float> positives, Out<std::int64_t> above,
                   Out<std::int64_t> not_below, int threads) {
    const auto rows = scores.shape(0), columns = scores.shape(1);
    require(rows == 0 || columns < 2 || scores.stride(1) == 1, "count_answers: the rows of scores have gaps");
    require(columns <= std::numeric_limits<std::int32_t>::max(), "count_answers: a row has more than 2^31 - 1 scores");
    require(positives.shape(0) == rows && above.shape(0) == rows && not_below.shape(0) == rows,
            "count_answers: positives, above and not_below must have a number for each row of scores");
    const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    marius::count_answers({scores.data(), size(rows), size(columns), scores.stride(0)}, positives.data(), above.data(),
                          not_below.data(), threads);
}

}  // namespace

void bind_score(nb::module_& m) {
    m.def("distance_scores", &distance_scores, "distance"_a, "query"_a.noconvert(), "candidates"_a.noconvert(),
          "scores"_a.noconvert(), "threads"_a = 0,
          "scores[i, j] = -distance of query[i] and candidates[j], l1 or complex_l2 (real parts first, imaginary parts after). "
          "float32 (n, d), (m, d), (n, m).",
          Release());
    m.def("distance_gradients", &distance_gradients, "distance"_a, "query"_a.noconvert(), "candidates"_a.noconvert(),
          "d_scores"_a.noconvert(), "d_query"_a.noconvert(), "d_candidates"_a.noconvert(), "threads"_a = 0,
          "From the gradient of distance_scores' scores, float32 (n, m): sets d_query (n, d), adds to d_candidates (m, d). The "
          "same bits for any number of threads.",
          Release());
    m.def(
        "complex_product", &complex_product, "left"_a.noconvert(), "right"_a.noconvert(), "conjugate"_a, "out"_a.noconvert(),
        "threads"_a = 0,
        "out = left * right, or left * conj(right), of complex numbers: real parts first, imaginary parts after. float32 (n, d).",
        Release());
    m.def("query_products", &query_products, "factors"_a, "conjugate"_a, "entity"_a.noconvert(), "relations"_a.noconvert(),
          "ids"_a.noconvert(), "query"_a.noconvert(), "threads"_a = 0,
          "query = entity * relations[ids], or its conjugate, of `real` or `complex` numbers (real parts first). float32 (n, d), "
          "(r, d), int64 (n,), float32 (n, d).",
          Release());
    m.def("query_gradients", &query_gradients, "factors"_a, "conjugate"_a, "entity"_a.noconvert(), "relations"_a.noconvert(),
          "ids"_a.noconvert(), "grad"_a.noconvert(), "also"_a.noconvert().none(), "d_entity"_a.noconvert(),
          "d_relation"_a.noconvert(), "threads"_a = 0,
          "The gradients of both factors of `query_products`, a row for each query, from its own. `also`, if any, is added to "
          "d_entity. float32 (n, d) each.",
          Release());
    m.def(
        "softmax_loss", &softmax_loss, "positives"_a.noconvert(), "negatives"_a.noconvert(), "losses"_a.noconvert(),
        "threads"_a = 0,
        "losses[r] = log(exp(positives[r]) + sum(exp(negatives[r]))) - positives[r]; the scores become its gradient. float32 (r,), "
        "(r, c), (r,).",
        Release());
    m.def("count_answers", &count_answers, "scores"_a.noconvert(), "positives"_a.noconvert(), "above"_a.noconvert(),
          "not_below"_a.noconvert(), "threads"_a = 0,
          "Adds to above[i] how many of scores[i] are above positives[i], to not_below[i] how many are above or equal; NaN is "
          "neither. float32 (n, m), whose rows may lie apart, (n,); int64 (n,).",
          Release());
    m.def("shared_loss_ways", &shared_loss_ways,
          "The ways of shared_loss that this processor and its operating system allow, the fastest first: name, and whether what "
          "is multiplied is rounded to bfloat16.");
    m.def(
        "shared_loss", &shared_loss, "way"_a, "loss"_a, "margin"_a, "sides"_a.noconvert(), "threads"_a = 0,
        "Each side, of one shape: (query, positive, candidates, hidden queries, hidden candidates, corrections or None, losses, "
        "d_query, d_positive, d_candidates). Scores are inner products of a query with its positive and with the candidates of its chunk, less corrections: of "
        "positives (n,), of candidates (chunks, m) or None, and of classes of candidates (chunks, m), by query (classes, n), or "
        "None. Hidden pairs (query, ascending; candidate of its chunk) score -inf. losses[i] of `loss` "
        "softmax: log(sum of exp(scores)) - score of the positive; logistic: softplus(-(margin + positive)) + the mean of "
        "softplus(margin + candidate); margin: the mean of max(0, margin + candidate - positive). And the gradients of the "
        "losses' sum. float32 (n, d), (chunks, m, d), (n,); int64. The same bits for the same way and number of threads, "
        "whatever other sides there are.",
        Release());
}
