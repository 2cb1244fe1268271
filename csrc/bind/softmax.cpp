// The softmax loss for Python. Arrays are C-contiguous float32 on the CPU: nothing is converted.
#include "score/softmax.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

void bind_softmax(nb::module_& m) {
    m.def(
        "softmax_loss",
        [](nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> scores,
           nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu> losses, int threads) {
            if (losses.shape(0) != scores.shape(0)) throw std::invalid_argument("softmax_loss: a loss for each row is needed");
            marius::softmax_loss(scores.data(), static_cast<std::int64_t>(scores.shape(0)),
                                 static_cast<std::int64_t>(scores.shape(1)), losses.data(), threads);
        },
        "scores"_a.noconvert(), "losses"_a.noconvert(), "threads"_a = 0,
        "losses[r] = log(sum(exp(scores[r]))) - scores[r, 0]; scores[r] becomes its gradient. float32 (r, c), (r,).",
        nb::call_guard<nb::gil_scoped_release>());
}
