// Scores of tiles for Python. Arrays are C-contiguous, on the CPU, of exactly these dtypes: nothing is converted.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

#include "bind/arrays.h"
#include "score/distances.h"
#include "score/shared_softmax.h"
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

void softmax_loss(Out<float, 2> scores, Out<float, 1> losses, int threads) {
    require(losses.shape(0) == scores.shape(0), "softmax_loss: a loss for each row is needed");
    marius::softmax_loss(scores.data(), static_cast<std::int64_t>(scores.shape(0)), static_cast<std::int64_t>(scores.shape(1)),
                         losses.data(), threads);
}

void shared_softmax(In<float, 2> query, In<float, 2> candidates, In<float, 1> positive, In<std::int64_t, 1> hidden_queries,
                    In<std::int64_t, 1> hidden_candidates, Out<float, 1> losses, Out<float, 1> d_positive, Out<float, 2> d_query,
                    Out<float, 2> d_candidates, bool add, int threads) {
    const auto queries = query.shape(0), hidden = hidden_queries.shape(0);
    require(query.shape(1) == candidates.shape(1), "shared_softmax: queries and candidates have not as many columns");
    require(same_shape(d_query, query) && same_shape(d_candidates, candidates),
            "shared_softmax: gradients must have the shapes of queries and candidates");
    require(positive.shape(0) == queries && losses.shape(0) == queries && d_positive.shape(0) == queries,
            "shared_softmax: positives, their gradients and losses are one for each query");
    require(hidden_candidates.shape(0) == hidden, "shared_softmax: a hidden pair is a query and a candidate");
    for (std::size_t i = 0; i < hidden; ++i) {
        const std::int64_t q = hidden_queries.data()[i], c = hidden_candidates.data()[i];
        const bool there =
            q >= 0 && q < static_cast<std::int64_t>(queries) && c >= 0 && c < static_cast<std::int64_t>(candidates.shape(0));
        require(there && (i == 0 || c >= hidden_candidates.data()[i - 1]),
                "shared_softmax: hidden pairs must be of queries and candidates that are there, ordered by candidate");
    }
    marius::shared_softmax({query.data(), static_cast<std::int64_t>(queries), candidates.data(),
                            static_cast<std::int64_t>(candidates.shape(0)), static_cast<std::int64_t>(query.shape(1)),
                            positive.data(), hidden_queries.data(), hidden_candidates.data(), static_cast<std::int64_t>(hidden)},
                           {losses.data(), d_positive.data(), d_query.data(), d_candidates.data(), add}, threads);
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
    m.def("softmax_loss", &softmax_loss, "scores"_a.noconvert(), "losses"_a.noconvert(), "threads"_a = 0,
          "losses[r] = log(sum(exp(scores[r]))) - scores[r, 0]; scores[r] becomes its gradient. float32 (r, c), (r,).",
          Release());
    m.def("shared_softmax_usable", &marius::shared_softmax_usable,
          "Whether this processor, as its operating system lets this process use it, can do shared_softmax.");
    m.def(
        "shared_softmax", &shared_softmax, "query"_a.noconvert(), "candidates"_a.noconvert(), "positive"_a.noconvert(),
        "hidden_queries"_a.noconvert(), "hidden_candidates"_a.noconvert(), "losses"_a.noconvert(), "d_positive"_a.noconvert(),
        "d_query"_a.noconvert(), "d_candidates"_a.noconvert(), "add"_a, "threads"_a = 0,
        "losses[i] = log(exp(positive[i]) + sum over j of exp(query[i] . candidates[j])) - positive[i], by products of bfloat16, "
        "without the hidden pairs (ordered by candidate), and the gradients of the losses' sum; d_candidates are set or added "
        "to. float32 (n, d), (m, d), (n,); int64. The same bits for the same number of threads.",
        Release());
}
