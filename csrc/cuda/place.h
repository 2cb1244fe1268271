// The place of a thread in a kernel's grid. A kernel body is a function of a job and a place. No thread waits for another, so
// the GPU may run all places at once, and tests run them one by one in any order.
#pragma once
#include <cstdint>

#include "base/both.h"

namespace marius {

struct Place {
    std::int64_t block, blocks;
    int thread, threads;  // of the block
};

// 2^bits neighbouring threads that work on the same row: group `index` of `count`.
struct Group {
    std::int64_t index, count;
    int lane, lanes;

    MARIUS_BOTH Group(const Place& place, int bits)
        : index((place.block * place.threads + place.thread) >> bits), count(place.blocks * place.threads >> bits),
          lane(place.thread & ((1 << bits) - 1)), lanes(1 << bits) {}
};

}  // namespace marius
