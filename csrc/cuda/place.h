// The place of a thread in a kernel's grid. A kernel body is a function of a job and a place. The GPU may run all places at once.
// No thread waits for another, so tests run them one by one in any order. The one exception: lanes of a group that have a row in
// common may reduce numbers through an object that the body is given. Tests give such a body groups of one lane.
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

// Reduces numbers of the 2^bits lanes of a group, each of which gets the result: a lane alone. kernels.cu has that of a warp.
struct OneLane {
    static constexpr int bits = 0;
    float max(float x) const { return x; }
    float sum(float x) const { return x; }
};

}  // namespace marius
