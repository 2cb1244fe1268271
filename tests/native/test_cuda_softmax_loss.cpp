// The GPU's softmax loss against its definition in double precision, with groups of one lane and of lanes that wait for each other.
#include <barrier>
#include <cmath>
#include <span>
#include <thread>

#include "places.h"
#include "random.h"

using namespace marius;

namespace {

constexpr float infinite = INFINITY, not_a_number = NAN;

// The lanes of one group, each in a thread of its own.
template <int lane_bits>
struct Threads {
    std::barrier<> arrived{1 << lane_bits};
    float given[1 << lane_bits];
};

template <int lane_bits>
struct LaneOfThreads {
    static constexpr int bits = lane_bits;
    Threads<lane_bits>& threads;
    int lane;

    float max(float x) const {
        return reduced(x, [](float a, float b) { return fmaxf(a, b); });
    }
    float sum(float x) const {
        return reduced(x, [](float a, float b) { return a + b; });
    }

private:
    template <class Reduce>
    float reduced(float x, Reduce reduce) const {
        threads.given[lane] = x;
        threads.arrived.arrive_and_wait();
        float result = threads.given[0];
        for (int other = 1; other < 1 << bits; ++other) result = reduce(result, threads.given[other]);
        threads.arrived.arrive_and_wait();
        return result;
    }
};

// Positives, negatives and losses in one memory, with a guard before and behind. `offset`: of the negatives from 16 bytes.
struct Tile {
    std::int64_t rows, columns;
    std::vector<float> memory;
    float *positive, *negatives, *losses;

    Tile(std::int64_t row_count, std::int64_t column_count, int offset)
        : rows(row_count), columns(column_count), memory(8 + (row_count + 4) * (column_count + 2) + offset, 77.0f) {
        negatives = memory.data() + 4 + offset;
        while (address_of(negatives - offset) % 16 != 0) ++negatives;
        positive = negatives + rows * columns, losses = positive + rows;
    }

    SoftmaxLoss job() const {
        return softmax_loss_job(
            {.positive = positive, .negatives = negatives, .losses = losses, .rows = rows, .columns = columns});
    }
    std::span<float> scores() { return {negatives, static_cast<std::size_t>(rows * (columns + 1))}; }
    std::span<float> row(std::int64_t r) { return {negatives + r * columns, static_cast<std::size_t>(columns)}; }
    std::span<float> results() { return {negatives, static_cast<std::size_t>(rows * (columns + 2))}; }
};

void run_by_one_lane(Tile& tile) {
    CountingMemory memory(tile.negatives, tile.results().size_bytes());
    const SoftmaxLoss job = tile.job();
    with_form<OneLane>(job, [&](auto floats, auto held) {
        run_places({.blocks = 2, .threads = 3}, [&](const Place& place) {
            softmax_loss<decltype(floats), decltype(held)::value>(job, place, memory, OneLane{});
        });
    });
    CHECK(std::all_of(memory.stores.begin(), memory.stores.end(), [](int times) { return times == 1; }));
}

template <int bits>
void run_by_threads(Tile& tile) {
    Threads<bits> threads;
    const SoftmaxLoss job = tile.job();
    std::vector<std::thread> lanes;
    for (int lane = 0; lane < 1 << bits; ++lane)
        lanes.emplace_back([&, lane] {
            const PlainMemory memory;
            with_form<LaneOfThreads<bits>>(job, [&](auto floats, auto held) {
                softmax_loss<decltype(floats), decltype(held)::value>(
                    job, {.block = 0, .blocks = 1, .thread = lane, .threads = 1 << bits}, memory,
                    LaneOfThreads<bits>{threads, lane});
            });
        });
    for (std::thread& lane : lanes) lane.join();
}

// `gap`: of the scores that the number is made of, below the highest. A float's difference of scores is rounded.
bool near(float found, double expected, double gap) {
    return std::abs(found - expected) <= (1e-6 + 1e-7 * gap) * std::abs(expected) + 1e-37;
}

void check_row(std::span<float> before, float positive, std::span<float> after, float gradient, float loss) {
    double second = -infinite, others = 0;
    for (float score : before) second = std::max<double>(second, score);
    const double highest = std::max<double>(positive, second);
    for (float score : before) others += std::exp(score - highest);
    const double total = others + std::exp(positive - highest);
    CHECK(std::abs(loss - (std::log(total) + (highest - positive))) <= 1e-6 * (1 + highest - positive));
    CHECK(near(gradient, -others / total, others > 0 ? highest - second : 0));
    for (std::size_t c = 0; c < before.size(); ++c)
        CHECK(before[c] == -infinite ? after[c] == 0
                                     : near(after[c], std::exp(before[c] - highest) / total, highest - before[c]));
}

template <class Run>
void against_the_definition(std::int64_t rows, std::int64_t columns, int offset, float spread, Run run) {
    Tile tile(rows, columns, offset);
    for (float& score : tile.scores()) score = spread * random_floats(1)[0];
    for (float& score : std::span(tile.negatives, rows * columns))
        if (random_bits() % 16 == 0) score = -infinite;
    Tile before(rows, columns, offset), again(rows, columns, offset);
    std::ranges::copy(tile.results(), before.results().begin());
    std::ranges::copy(tile.results(), again.results().begin());
    run(tile), run(again);
    CHECK(std::memcmp(tile.negatives, again.negatives, tile.results().size_bytes()) == 0);
    for (std::int64_t r = 0; r < rows; ++r)
        check_row(before.row(r), before.positive[r], tile.row(r), tile.positive[r], tile.losses[r]);
    CHECK(std::all_of(tile.memory.data(), tile.negatives, [](float guard) { return guard == 77.0f; }));
    CHECK(std::all_of(tile.losses + rows, tile.memory.data() + tile.memory.size(), [](float guard) { return guard == 77.0f; }));
}

template <class Run>
void extremes(std::int64_t columns, Run run) {
    Tile tile(4, columns, 0);
    std::ranges::fill(tile.scores(), -infinite);
    std::ranges::fill(std::span(tile.positive, 4), -1e30f);
    tile.row(0)[columns - 1] = not_a_number;
    tile.positive[1] = not_a_number;
    tile.row(2)[columns / 2] = 1e30f;
    run(tile);
    CHECK(std::isnan(tile.losses[0]) && std::isnan(tile.losses[1]));
    CHECK(tile.losses[2] == 2e30f && tile.positive[2] == -1 && tile.row(2)[columns / 2] == 1);
    CHECK(tile.losses[3] == 0 && tile.positive[3] == 0);
    CHECK(std::ranges::all_of(tile.row(3), [](float gradient) { return gradient == 0; }));
}

void arguments_are_checked() {
    float one[4] = {};
    const auto job = [&](std::int64_t rows, std::int64_t columns, float* negatives) {
        return softmax_loss_job({.positive = one, .negatives = negatives, .losses = one, .rows = rows, .columns = columns});
    };
    CHECK(job(3, 0, nullptr).vectors == 0 && job(0, 3, nullptr).rows == 0);
    CHECK_THROWS(job(-1, 3, one), std::invalid_argument);
    CHECK_THROWS(job(3, -1, one), std::invalid_argument);
    CHECK_THROWS(job(3, 1, nullptr), std::invalid_argument);
    CHECK_THROWS(job(3, 1, reinterpret_cast<float*>(reinterpret_cast<char*>(one) + 2)), std::invalid_argument);
}

}  // namespace

int main() {
    for (std::int64_t columns = 0; columns <= 70; ++columns)
        for (int offset : {0, 1})
            for (float spread : {0.1f, 30.0f}) against_the_definition(9, columns, offset, spread, run_by_one_lane);
    for (std::int64_t columns : {0, 1, 3, 4, 7, 32, 33, 63, 64, 127, 128, 129, 132, 200, 1001}) {
        against_the_definition(5, columns, 0, 3.0f, run_by_threads<1>);
        against_the_definition(5, columns, 2, 20.0f, run_by_threads<2>);
    }
    against_the_definition(2, 1000, 0, 5.0f, run_by_threads<5>);
    against_the_definition(2, 1025, 0, 5.0f, run_by_threads<5>);
    for (std::int64_t columns : {1, 32, 40, 1500}) extremes(columns, run_by_one_lane), extremes(columns, run_by_threads<2>);
    arguments_are_checked();
}
