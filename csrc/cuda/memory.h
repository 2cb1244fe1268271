// How kernel bodies load and store: in vectors of up to 16 bytes.
#pragma once
#include <cstring>

#include "base/both.h"

namespace marius {

template <class T, int n>
struct alignas(sizeof(T) * n) Vector {
    using Element = T;
    static constexpr int elements = n;
    T at[n];
};

// Loads and stores of ordinary memory. Bodies take such an object, so that tests can record every access.
struct PlainMemory {
    template <class V>
    MARIUS_BOTH V load(const void* address) const {
        V value;
        memcpy(&value, address, sizeof value);
        return value;
    }
    template <class V>
    MARIUS_BOTH void store(void* address, const V& value) const {
        memcpy(address, &value, sizeof value);
    }
};

}  // namespace marius
