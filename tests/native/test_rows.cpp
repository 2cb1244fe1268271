// Row kernels: grouping, sums and steps, whatever the number of threads.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "check.h"
#include "random.h"
#include "rows/bfloat16.h"
#include "rows/gather.h"
#include "rows/held.h"
#include "rows/philox.h"
#include "rows/pick.h"
#include "rows/segment_sum.h"
#include "rows/sort.h"
#include "rows/steps.h"

using namespace marius;

namespace {

void every_element_once() {
    for (int threads : {0, 1, 2, 5})
        for (std::int64_t count : {0, 1, 63, 1000}) {
            std::vector<int> seen(count, 0);
            parallel_for(count, 7, threads, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) ++seen[i];
            });
            for (int times : seen) CHECK(times == 1);
        }
}

void loops_from_several_threads() {
    std::vector<std::thread> callers;
    std::vector<std::int64_t> sums(4, 0);
    for (int caller = 0; caller < 4; ++caller)
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 200; ++round) {
                std::vector<std::int64_t> values(100, 0);
                parallel_for(100, 3, 3, [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) values[i] = i;
                });
                for (std::int64_t v : values) sums[caller] += v;
            }
        });
    for (std::thread& caller : callers) caller.join();
    for (std::int64_t sum : sums) CHECK(sum == 200 * 4950);
}

// What numpy.random.Generator(numpy.random.Philox(key=7)).integers(bound, size=n) gives.
void numbers_are_numpys() {
    std::vector<std::int64_t> drawn(6);
    draw_below(7, 1LL, drawn.data(), 6);
    CHECK((drawn == std::vector<std::int64_t>{0, 0, 0, 0, 0, 0}));
    draw_below(7, 1000LL, drawn.data(), 6);
    CHECK((drawn == std::vector<std::int64_t>{163, 872, 972, 295, 314, 420}));
    draw_below(7, 2147483649LL, drawn.data(), 6);
    CHECK((drawn == std::vector<std::int64_t>{1872763484, 634292326, 1490892585, 870573218, 177903315, 1822970313}));
    CHECK_THROWS(draw_below(7, 0, drawn.data(), 1), std::invalid_argument);
    CHECK_THROWS(draw_below(7, std::int64_t{1} << 32, drawn.data(), 1), std::invalid_argument);
}

void held_rows_are_divided() {
    const std::vector<std::int64_t> held{3, 64, 200}, places{5, 200, 5, 3, 900, 3, 5};
    const DividedRows divided = HeldRows(held.data(), 3).divide(places.data(), 7);
    CHECK((divided.rows == std::vector<std::int64_t>{5, 900, 200, 3, 3}));  // the first place's row is there once
    CHECK((divided.held == std::vector<std::int64_t>{2, 0, 0}));
    for (std::size_t i = 0; i < places.size(); ++i) CHECK(divided.rows[divided.inverse[i]] == places[i]);
    CHECK(HeldRows(held.data(), 3).divide(places.data(), 1).inverse.empty());
    CHECK(HeldRows(nullptr, 0).divide(places.data(), 0).rows.empty());
    const std::int64_t negative = -1;
    CHECK_THROWS(HeldRows(held.data(), 3).divide(&negative, 1), std::invalid_argument);
}

void sort_groups_stably() {
    for (std::int64_t bound : {1LL, 40LL, 5000LL, 1LL << 45}) {
        std::vector<std::int64_t> rows(3000);
        for (std::int64_t& row : rows) row = static_cast<std::int64_t>(random_bits() % bound);
        const SortedRows sorted = sort_rows(rows.data(), rows.size());
        CHECK(sorted.starts.front() == 0 && sorted.starts.back() == 3000);
        const std::int64_t segments = static_cast<std::int64_t>(sorted.unique.size());
        const std::vector<std::int32_t> inverse = inverse_of(sorted.order.data(), 3000, sorted.starts.data(), segments);
        for (std::size_t i = 0; i < rows.size(); ++i) CHECK(sorted.unique[inverse[i]] == rows[i]);
        std::vector<std::int32_t> at_once(rows.size());
        sort_rows(rows.data(), rows.size(), at_once.data());
        CHECK(at_once == inverse);
        for (std::size_t s = 0; s < sorted.unique.size(); ++s) {
            CHECK(s == 0 || sorted.unique[s - 1] < sorted.unique[s]);
            CHECK(sorted.starts[s] < sorted.starts[s + 1]);
            for (std::int32_t k = sorted.starts[s]; k < sorted.starts[s + 1]; ++k) {
                CHECK(rows[sorted.order[k]] == sorted.unique[s]);
                CHECK(k == sorted.starts[s] || sorted.order[k - 1] < sorted.order[k]);
            }
        }
    }
    CHECK(sort_rows(nullptr, 0).starts.size() == 1);
    const std::int64_t negative = -1;
    CHECK_THROWS(sort_rows(&negative, 1), std::invalid_argument);
    const std::int32_t order[] = {0, 2}, starts[] = {0, 2}, more[] = {0, 3};
    CHECK_THROWS(inverse_of(order, 2, starts, 1), std::invalid_argument);  // there are no three positions
    CHECK_THROWS(inverse_of(order, 2, more, 1), std::invalid_argument);
}

void groups_are_cut_into_pieces() {
    for (const std::int64_t piece : {1, 7, 1000}) {
        std::vector<std::int64_t> group_of(900);
        for (std::int64_t& group : group_of) group = static_cast<std::int64_t>(random_bits() % 40) * (random_bits() % 2);
        const GroupedRows grouped = group_rows(group_of.data(), 900, 40, piece);
        CHECK(grouped.pieces.size() == (piece == 1000 ? 0 : 40 + 900 / piece + 1));
        std::vector<std::int64_t> next(40, -1);
        for (std::int64_t g = 0; g < 40; ++g) {
            for (std::int32_t p = grouped.groups[g]; p < grouped.groups[g + 1]; ++p) {
                const std::int32_t first = piece == 1000 ? p : grouped.pieces[p],
                                   last = piece == 1000 ? p + 1 : grouped.pieces[p + 1];
                CHECK(first < last && last - first <= piece);
                for (std::int32_t i = first; i < last; ++i) {
                    CHECK(group_of[grouped.order[i]] == g && grouped.order[i] > next[g]);
                    next[g] = grouped.order[i];
                }
            }
        }
    }
    const std::int64_t wrong[] = {0, 3};
    CHECK_THROWS(group_rows(wrong, 2, 3, 4), std::invalid_argument);
    CHECK(group_rows(nullptr, 0, 2, 4).groups == std::vector<std::int32_t>(3));
}

void sums_and_steps_do_not_depend_on_threads() {
    const std::int64_t nodes = 500, dim = 19, width = 60, count = 4000;
    std::vector<std::int64_t> rows(count);
    for (std::int64_t& row : rows) row = static_cast<std::int64_t>(random_bits() % nodes);
    const std::vector<float> grads = random_floats(count * dim), start = random_floats(nodes * width);
    const SortedRows sorted = sort_rows(rows.data(), count);
    const std::int64_t unique = static_cast<std::int64_t>(sorted.unique.size());
    std::vector<float> first;
    for (int threads : {1, 2, 7}) {
        std::vector<float> sums(unique * dim), table = start;
        for (float& v : table) v = std::abs(v);
        segment_sum({{grads.data(), 1500}, {grads.data() + 1500 * dim, count - 1500}}, sorted.order.data(), count,
                    sorted.starts.data(), unique, sums.data(), dim, threads);
        const RowStep<float> step{table.data(), nodes, width, sorted.unique.data(), unique, sums.data(), dim, threads};
        formulas::each_optimizer([&](auto each) { row_step(each.name, step, formulas::usual_rates(each.name, 0.1f)); });
        std::vector<float> out(count * dim);
        gather({table.data(), nodes, width, Number::float32}, rows.data(), count, out.data(), dim, threads);
        for (std::int64_t i = 0; i < count; ++i)
            CHECK(std::memcmp(&out[i * dim], &table[rows[i] * width], dim * sizeof(float)) == 0);
        if (first.empty()) first = table;
        CHECK(std::memcmp(first.data(), table.data(), table.size() * sizeof(float)) == 0);
    }
}

// A table of exactly the columns that a record needs, so that a sanitizer sees any step beyond it.
void rounded_steps_do_not_depend_on_threads() {
    const std::int64_t nodes = 300, dim = 19;
    std::vector<std::int64_t> rows(nodes);
    for (std::int64_t i = 0; i < nodes; ++i) rows[i] = i;
    const std::vector<float> grads = random_floats(nodes * dim);
    formulas::each_optimizer([&](auto each) {
        using Optimizer = decltype(each);
        const std::int64_t width = dim + Optimizer::per_value * dim + halves * Optimizer::per_row;
        std::vector<std::uint16_t> first;
        for (int threads : {1, 2, 7}) {
            std::vector<std::uint16_t> table(nodes * width);
            for (std::uint32_t key : {1u, 2u, 3u}) {
                const RowStep<std::uint16_t> step{table.data(), nodes, width,   rows.data(), nodes,
                                                  grads.data(), dim,   threads, key};
                row_step(each.name, step, formulas::usual_rates(each.name, 0.1f));
            }
            if (first.empty()) first = table;
            CHECK(first == table);
        }
        CHECK(first != std::vector<std::uint16_t>(nodes * width));
    });
}

void misfits_change_nothing() {
    std::vector<float> table(20, 1.0f), out(4);
    const std::vector<float> grads(4, 1.0f);
    for (std::vector<std::int64_t> rows : {std::vector<std::int64_t>{1, 1}, {2, 1}, {0, 5}, {-1, 0}}) {
        const RowStep<float> step{table.data(), 5, 4, rows.data(), 2, grads.data(), 2, 1};
        CHECK_THROWS(row_step("sgd", step, formulas::usual_rates("sgd", 1.0f)), std::invalid_argument);
    }
    const std::vector<std::int64_t> rows{0, 1};
    const RowStep<float> narrow{table.data(), 5, 4, rows.data(), 2, grads.data(), 2, 1};
    CHECK_THROWS(row_step("adam", narrow, formulas::usual_rates("adam", 1.0f)), std::invalid_argument);
    for (float v : table) CHECK(v == 1.0f);
    const std::int64_t outside = 5;
    CHECK_THROWS(gather({table.data(), 5, 4, Number::float32}, &outside, 1, out.data(), 4, 1), std::invalid_argument);
    const std::int32_t order[] = {2}, starts[] = {0, 1};
    CHECK_THROWS(segment_sum({{grads.data(), 2}}, order, 1, starts, 1, out.data(), 2, 1), std::invalid_argument);
}

}  // namespace

void numbers_are_picked() {
    const std::vector<std::uint32_t> column{7, 4'000'000'000u, 9}, places{2, 1, 1, 0};
    CHECK((picked(column.data(), 3, places.data(), 4) == std::vector<std::int64_t>{9, 4'000'000'000, 4'000'000'000, 7}));
    CHECK(picked(column.data(), 0, places.data(), 0).empty());
    CHECK_THROWS(picked(column.data(), 2, places.data(), 4), std::invalid_argument);
}

int main() {
    every_element_once();
    loops_from_several_threads();
    numbers_are_numpys();
    numbers_are_picked();
    held_rows_are_divided();
    sort_groups_stably();
    groups_are_cut_into_pieces();
    sums_and_steps_do_not_depend_on_threads();
    rounded_steps_do_not_depend_on_threads();
    misfits_change_nothing();
}
