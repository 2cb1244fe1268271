// Records: the radix sort is std::sort, whatever the keys look like and however many threads there are.
#include <algorithm>
#include <random>
#include <vector>

#include "check.h"
#include "graph/records.h"

using namespace marius;

namespace {

enum class Shape { random, narrow, skewed, few, equal, sorted, backwards, far_apart };
constexpr Shape kShapes[] = {Shape::random, Shape::narrow, Shape::skewed,    Shape::few,
                             Shape::equal,  Shape::sorted, Shape::backwards, Shape::far_apart};

uint64_t value(Shape shape, size_t i, std::mt19937_64& rng) {
    switch (shape) {
        case Shape::random: return rng();
        case Shape::narrow: return (1ULL << 63) + rng() % 1000;
        case Shape::skewed: return rng() % 4 ? 77 : rng() >> (rng() % 64);
        case Shape::few: return (rng() % 3) << 40;
        case Shape::equal: return ~0ULL;
        case Shape::sorted: return i / 3;
        case Shape::backwards: return ~0ULL - i / 3;
        case Shape::far_apart: return rng() % 2 ? ~0ULL - rng() % 5 : rng() % 5;
    }
    return 0;
}

// `constant`: leading words that are the same in all records, so that the sort must look further.
template <int words>
void sorts_like_std_sort(Shape shape, size_t count, int constant) {
    std::mt19937_64 rng(static_cast<unsigned>(count));
    std::vector<Record<words>> records(count);
    for (size_t i = 0; i < count; ++i)
        for (int w = 0; w < words; ++w) records[i].word[w] = w < constant ? 5 : value(shape, i, rng);
    auto expected = records;
    std::sort(expected.begin(), expected.end());
    for (int threads : {1, 2, 5}) {
        auto sorted = records;
        sort_records(sorted.data(), count, threads);
        CHECK(sorted == expected);
    }
    for (size_t place = 0; place < count; place += 1 + count / 7) {
        const size_t below = count_not_above(expected.data(), count, expected[place]);
        CHECK(below > place && expected[below - 1] == expected[place]);
        CHECK(below == count || expected[place] < expected[below]);
    }
}

template <int words>
void sorts() {
    for (Shape shape : kShapes)
        for (size_t count : {0, 1, 2, 64, 65, 513, 16'385, 30'000})
            for (int constant = 0; constant < words; ++constant) sorts_like_std_sort<words>(shape, count, constant);
}

void counts_what_is_not_above() {
    const std::vector<Record<2>> records{{{1, 5}}, {{1, 5}}, {{1, 7}}, {{2, 0}}};
    auto below = [&](uint64_t high, uint64_t low) {
        return count_not_above(records.data(), records.size(), Record<2>{{high, low}});
    };
    CHECK(below(0, ~0ULL) == 0 && below(1, 4) == 0 && below(1, 5) == 2 && below(1, 6) == 2 && below(1, 7) == 3);
    CHECK(below(1, ~0ULL) == 3 && below(2, 0) == 4 && below(~0ULL, ~0ULL) == 4);
}

}  // namespace

int main() {
    sorts<1>();
    sorts<2>();
    sorts<3>();
    sorts<4>();
    counts_what_is_not_above();
}
