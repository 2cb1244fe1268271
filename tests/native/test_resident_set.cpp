// The decisions of the buffer, without I/O: who gets a slot, who waits for one, what is written; in any order of ends.
#include "io/resident_set.h"

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>

#include "check.h"
#include "io/dry_buffer.h"

using namespace marius;
using State = PartitionState;

void slots_go_first_to_what_is_needed_now() {
    ResidentSet set(5, 2);
    Transfers started = set.enter({3}, {1, 0});
    CHECK(started.loads == PartitionList({3, 1}) && started.writes.empty());
    set.loaded(3, true);
    set.loaded(1, true);
    set.mark_dirty({3});
    started = set.enter({0, 4}, {});  // the slot of 1 is free at once, that of 3 after its write
    CHECK(started.writes == PartitionList({3}) && started.loads == PartitionList({0}));
    CHECK(set.written(3, true).loads == PartitionList({4}));
    CHECK(set.state(3) == State::on_disk && !set.slot_is_free());
}

void what_is_wanted_again_is_not_loaded_again() {
    ResidentSet set(3, 2);
    set.enter({0, 1}, {});
    set.loaded(0, true);
    set.loaded(1, true);
    set.mark_dirty({0});
    CHECK(set.enter({1}, {}).writes == PartitionList({0}));
    CHECK(set.enter({1}, {2, 0}).loads.empty());  // 0 still is in memory, and comes before 2
    set.written(0, true);
    CHECK(set.state(0) == State::resident);
}

void failed_transfers_lose_nothing() {
    ResidentSet set(2, 1);
    set.enter({0}, {});
    set.loaded(0, false);
    CHECK(set.state(0) == State::on_disk && set.slot_is_free());
    CHECK(set.adopt(0) == 0);
    set.enter({1}, {});
    CHECK(set.written(0, false).loads.empty());
    CHECK(set.state(0) == State::dirty);
    CHECK(set.enter({1}, {}).writes == PartitionList({0}));
    CHECK(set.written(0, true).loads == PartitionList({1}));
}

void impossible_calls_change_nothing() {
    CHECK_THROWS(ResidentSet(0, 1), std::invalid_argument);
    CHECK_THROWS(ResidentSet(1, 0), std::invalid_argument);
    ResidentSet set(3, 1);
    CHECK_THROWS(set.enter({0, 1}, {}), std::invalid_argument);
    CHECK_THROWS(set.enter({3}, {}), std::invalid_argument);
    CHECK_THROWS(set.enter({0}, {1, 1}), std::invalid_argument);
    CHECK_THROWS(set.mark_dirty({0}), std::invalid_argument);
    CHECK(set.enter({2}, {}).loads == PartitionList({2}));
    CHECK_THROWS(set.adopt(2), std::invalid_argument);
    CHECK_THROWS(set.adopt(1), std::invalid_argument);
}

// Transfers end in a random order until what is needed is there. No slot has two partitions, and as many hold one as fit.
void any_order_of_ends_serves_every_call() {
    constexpr int partitions = 9, slots = 5;
    std::mt19937 random(3);
    ResidentSet set(partitions, slots);
    PartitionList writing, loading, all{0, 1, 2, 3, 4, 5, 6, 7, 8};
    const auto note = [&](const Transfers& started) {
        writing.insert(writing.end(), started.writes.begin(), started.writes.end());
        loading.insert(loading.end(), started.loads.begin(), started.loads.end());
    };
    const auto end_one = [&] {
        const std::size_t which = random() % (writing.size() + loading.size());
        PartitionList& list = which < writing.size() ? writing : loading;
        const auto place = list.begin() + static_cast<std::ptrdiff_t>(which < writing.size() ? which : which - writing.size());
        const std::int64_t k = *place;
        list.erase(place);
        note(&list == &writing ? set.written(k, true) : set.loaded(k, true));
    };
    for (int step = 0; step < 2000; ++step) {
        std::shuffle(all.begin(), all.end(), random);
        const PartitionList now(all.begin(), all.begin() + random() % 5), next(all.begin() + 5, all.end() - random() % 4);
        note(set.enter(now, next));
        while (!set.usable(now)) {
            CHECK(!writing.empty() || !loading.empty());
            end_one();
        }
        set.mark_dirty(now);
        if (step % 10 == 0) note(set.flush());
        while (step % 3 == 0 && !(writing.empty() && loading.empty())) end_one();
        std::set<int> taken;
        for (int k = 0; k < partitions; ++k)
            if (set.state(k) != State::on_disk) CHECK(taken.insert(set.slot(k)).second);
        CHECK(taken.empty() || (*taken.begin() >= 0 && *taken.rbegin() < slots));
        if (step % 3 == 0) CHECK(taken.size() == std::min<std::size_t>(slots, now.size() + next.size()));
    }
}

void a_dry_buffer_ends_every_transfer_at_once() {
    DryBuffer buffer(4, 2);
    buffer.adopt(0);
    buffer.enter({0}, {1, 2});
    Transfers moved = buffer.moved();
    CHECK(moved.loads == PartitionList({1}) && moved.writes.empty());
    buffer.enter({2, 3}, {});
    buffer.mark_dirty({3});
    buffer.flush();
    moved = buffer.moved();
    CHECK(moved.loads == PartitionList({2, 3}) && moved.writes == PartitionList({0, 3}));
    CHECK(buffer.moved().loads.empty());
}

int main() {
    slots_go_first_to_what_is_needed_now();
    what_is_wanted_again_is_not_loaded_again();
    failed_transfers_lose_nothing();
    impossible_calls_change_nothing();
    any_order_of_ends_serves_every_call();
    a_dry_buffer_ends_every_transfer_at_once();
}
