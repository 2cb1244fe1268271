// Sums of neighbours' rows: by definition, and whatever the number of threads.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "check.h"
#include "layers/aggregate.h"
#include "random.h"

using namespace marius;

namespace {

template <class Index> struct Lists {
    std::vector<std::int64_t> indptr{0};
    std::vector<Index> indices;
    std::vector<float> weights;
    std::int64_t sources;

    Lists(std::int64_t targets, std::int64_t sources_, int most) : sources(sources_) {
        for (std::int64_t t = 0; t < targets; ++t) {
            for (std::uint64_t left = random_bits() % (most + 1); left > 0; --left)
                indices.push_back(static_cast<Index>(random_bits() % sources));
            indptr.push_back(static_cast<std::int64_t>(indices.size()));
        }
        weights = random_floats(static_cast<std::int64_t>(indices.size()));
    }

    Neighbours<Index> graph(bool weighted, bool mean) const {
        return {indptr.data(),
                static_cast<std::int64_t>(indptr.size()) - 1,
                indices.data(),
                static_cast<std::int64_t>(indices.size()),
                sources,
                weighted ? weights.data() : nullptr,
                mean};
    }
};

template <class Index> void equal_to_the_definition(bool weighted, bool mean) {
    const std::int64_t targets = 700, sources = 1500, dim = 21;
    const Lists<Index> lists(targets, sources, 9);
    const auto graph = lists.graph(weighted, mean);
    const std::vector<float> x = random_floats(sources * dim), grad = random_floats(targets * dim);
    std::vector<double> sums(targets * dim), back(sources * dim);
    for (std::int64_t t = 0; t < targets; ++t)
        for (std::int64_t e = graph.indptr[t]; e < graph.indptr[t + 1]; ++e) {
            double weight = weighted ? lists.weights[e] : 1.0;
            if (mean) weight /= static_cast<double>(graph.indptr[t + 1] - graph.indptr[t]);
            for (std::int64_t c = 0; c < dim; ++c) {
                sums[t * dim + c] += weight * x[graph.indices[e] * dim + c];
                back[graph.indices[e] * dim + c] += weight * grad[t * dim + c];
            }
        }
    std::vector<float> first;
    for (int threads : {1, 2, 5}) {
        std::vector<float> out(targets * dim, NAN), source_grad(sources * dim, NAN);
        neighbour_sum(graph, {x.data(), sources, dim}, {out.data(), targets, dim}, dim, threads);
        neighbour_sum_backward(graph, {grad.data(), targets, dim}, {}, {source_grad.data(), sources, dim}, dim, threads);
        for (std::size_t i = 0; i < sums.size(); ++i) CHECK(std::abs(out[i] - sums[i]) < 1e-4);
        for (std::size_t i = 0; i < back.size(); ++i) CHECK(std::abs(source_grad[i] - back[i]) < 1e-4);
        out.insert(out.end(), source_grad.begin(), source_grad.end());
        if (first.empty()) first = out;
        CHECK(std::memcmp(first.data(), out.data(), out.size() * sizeof(float)) == 0);
    }
}

void nothing_at_all() {
    const std::int64_t indptr[] = {0};
    const Neighbours<std::int32_t> graph{indptr, 0, nullptr, 0, 0, nullptr, true};
    neighbour_sum(graph, {}, {}, 4, 2);
    neighbour_sum_backward(graph, {}, {}, {}, 4, 2);
}

void misfits_are_refused() {
    const std::vector<float> x(20, 1.0f);
    std::vector<float> out(20);
    const std::int64_t right[] = {0, 1, 2}, back[] = {0, 2, 1}, beyond[] = {0, 1, 3};
    for (const std::int64_t* indptr : {right, back, beyond})
        for (std::int32_t index : {0, 5, -1}) {
            if (indptr == right && index == 0) continue;
            const std::int32_t indices[] = {1, index};
            const Neighbours<std::int32_t> graph{indptr, 2, indices, 2, 5, nullptr, false};
            CHECK_THROWS(neighbour_sum(graph, {x.data(), 5, 4}, {out.data(), 2, 4}, 4, 1), std::invalid_argument);
            CHECK_THROWS(neighbour_sum_backward(graph, {x.data(), 2, 4}, {}, {out.data(), 5, 4}, 4, 2), std::invalid_argument);
        }
}

}  // namespace

int main() {
    for (bool weighted : {false, true})
        for (bool mean : {false, true}) {
            equal_to_the_definition<std::int32_t>(weighted, mean);
            equal_to_the_definition<std::int64_t>(weighted, mean);
        }
    nothing_at_all();
    misfits_are_refused();
}
