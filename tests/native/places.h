// Runs kernel bodies place by place in a random order, over memory that counts the stores to each byte.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "check.h"
#include "cuda/launch.h"
#include "random.h"

template <class Body>
void run_places(marius::Grid grid, Body body) {
    std::vector<std::int64_t> order(grid.blocks * grid.threads);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_bits);
    for (std::int64_t at : order)
        body(marius::Place{.block = at / grid.threads,
                           .blocks = grid.blocks,
                           .thread = static_cast<int>(at % grid.threads),
                           .threads = grid.threads});
}

// Counts how often each byte of [start, start + size) is stored; every access must be aligned to its size, every store
// must lie inside.
struct CountingMemory {
    char* start;
    std::vector<std::uint8_t> stores;

    CountingMemory(void* memory, std::size_t size) : start(static_cast<char*>(memory)), stores(size) {}

    template <class V>
    V load(const void* address) const {
        CHECK(reinterpret_cast<std::uintptr_t>(address) % sizeof(V) == 0);
        V value;
        std::memcpy(&value, address, sizeof value);
        return value;
    }
    template <class V>
    void store(void* address, const V& value) {
        CHECK(reinterpret_cast<std::uintptr_t>(address) % sizeof(V) == 0);
        const auto at = static_cast<char*>(address) - start;
        CHECK(at >= 0 && at + sizeof(V) <= stores.size());
        for (std::size_t b = 0; b < sizeof(V); ++b) ++stores[at + b];
        std::memcpy(address, &value, sizeof value);
    }
};
