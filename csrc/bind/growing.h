// Gives what native code has grown to Python, without a copy.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>

#include "graph/growing.h"

namespace marius::bind {

namespace nb = nanobind;

// The values from `from` on, as an array that owns them.
template <class T>
nb::object array_of(Growing<T>&& values, size_t from = 0) {
    auto* kept = new Growing<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Growing<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data() + from, {kept->size() - from}, owner));
}

}  // namespace marius::bind
