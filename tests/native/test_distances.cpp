// Distances and their gradients: by definition, with every width of vectors that runs here, whatever the number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "check.h"
#include "random.h"
#include "score/distance_kernels.h"
#include "score/distances.h"

using namespace marius;

namespace {

struct Expected {
    std::vector<double> scores, d_query, d_candidates;
};

Expected by_definition(Distance distance, const DistanceTile& tile, const std::vector<float>& d_scores) {
    Expected out{std::vector<double>(tile.queries * tile.count), std::vector<double>(tile.queries * tile.dim),
                 std::vector<double>(tile.count * tile.dim)};
    const std::int64_t parts = distance == Distance::l1 ? 1 : 2, terms = tile.dim / parts;
    for (std::int64_t q = 0; q < tile.queries; ++q)
        for (std::int64_t c = 0; c < tile.count; ++c)
            for (std::int64_t t = 0; t < terms; ++t) {
                double square = 0;
                for (std::int64_t k = t; k < tile.dim; k += terms)
                    square += std::pow(double{tile.query[q * tile.dim + k]} - tile.candidates[c * tile.dim + k], 2);
                const double norm = std::sqrt(square);
                out.scores[q * tile.count + c] -= norm;
                for (std::int64_t k = t; k < tile.dim && norm > 0; k += terms) {
                    const double towards = double{tile.candidates[c * tile.dim + k]} - tile.query[q * tile.dim + k];
                    const double pull = d_scores[q * tile.count + c] * towards / norm;
                    out.d_query[q * tile.dim + k] += pull;
                    out.d_candidates[c * tile.dim + k] -= pull;
                }
            }
    return out;
}

void near(const std::vector<float>& found, const std::vector<double>& expected, double offset) {
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(std::abs(found[i] - offset - expected[i]) <= 1e-4 * (1 + std::abs(expected[i])));
}

void equal_to_the_definition(Distance distance, std::int64_t queries, std::int64_t count, std::int64_t dim) {
    const std::vector<float> query = random_floats(queries * dim, 0.0f), d_scores = random_floats(queries * count, 0.0f);
    std::vector<float> candidates = random_floats(count * dim, 0.0f);
    if (queries > 0 && count > 0) std::copy_n(query.begin(), dim, candidates.begin() + count / 2 * dim);
    const DistanceTile tile{query.data(), queries, candidates.data(), count, dim};
    const Expected expected = by_definition(distance, tile, d_scores);
    for (const DistanceKernels* kernels : usable_distance_kernels()) {
        std::vector<float> first;
        for (int threads : {1, 2, 5}) {
            std::vector<float> scores(queries * count, NAN), d_query(queries * dim, NAN), d_candidates(count * dim, 1.0f);
            distance_scores(distance, tile, scores.data(), threads, *kernels);
            distance_gradients(distance, tile, d_scores.data(), d_query.data(), d_candidates.data(), threads, *kernels);
            near(scores, expected.scores, 0);
            near(d_query, expected.d_query, 0);
            near(d_candidates, expected.d_candidates, 1);
            scores.insert(scores.end(), d_query.begin(), d_query.end());
            scores.insert(scores.end(), d_candidates.begin(), d_candidates.end());
            if (first.empty()) first = scores;
            CHECK(std::memcmp(first.data(), scores.data(), scores.size() * sizeof(float)) == 0);
        }
    }
}

void misfits_are_refused() {
    const std::vector<float> x(9);
    std::vector<float> out(9);
    const DistanceTile odd{x.data(), 3, x.data(), 3, 3};
    CHECK_THROWS(distance_scores(Distance::complex_l2, odd, out.data(), 1), std::invalid_argument);
    CHECK_THROWS(distance_gradients(Distance::complex_l2, odd, x.data(), out.data(), out.data(), 1), std::invalid_argument);
}

}  // namespace

int main() {
    CHECK(usable_distance_kernels().back() == &distances_of_4);
    for (Distance distance : {Distance::l1, Distance::complex_l2}) {
        equal_to_the_definition(distance, 11, 70, 20);
        equal_to_the_definition(distance, 5, 1100, 6);
        equal_to_the_definition(distance, 520, 3, 2);
        equal_to_the_definition(distance, 1, 1, 2);
        equal_to_the_definition(distance, 3, 0, 4);
        equal_to_the_definition(distance, 0, 3, 4);
        equal_to_the_definition(distance, 3, 4, 0);
    }
    equal_to_the_definition(Distance::l1, 9, 33, 7);
    misfits_are_refused();
}
