// The arrays that bindings take: C-contiguous, on the CPU, of exactly these dtypes; nothing is converted.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

namespace marius::bind {

namespace nb = nanobind;

template <class T, int dims = 1>
using In = nb::ndarray<const T, nb::ndim<dims>, nb::c_contig, nb::device::cpu>;
template <class T, int dims = 1>
using Out = nb::ndarray<T, nb::ndim<dims>, nb::c_contig, nb::device::cpu>;
using Records = nb::ndarray<std::uint64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Release = nb::call_guard<nb::gil_scoped_release>;

/// Throws std::invalid_argument, which Python sees as ValueError.
inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

}  // namespace marius::bind
