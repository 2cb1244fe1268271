// Rows that are held sparse, for Python.
#include "rows/sparse.h"
#include "bind/arrays.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace marius;
using namespace marius::bind;

namespace {

void add_rows(SparseRows& sparse, const void* data, std::size_t rows, std::size_t width, Number number,
              const float* scales = nullptr) {
    nb::gil_scoped_release released;
    sparse.add({data, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width), number, scales});
}

}  // namespace

void bind_sparse(nb::module_& m) {
    nb::class_<SparseRows>(m, "SparseRows",
                           "Rows most of whose numbers are 0, added in order. They take 4 bytes a row, and 8 for each "
                           "number whose bits are not 0.")
        .def(
            "__init__",
            [](SparseRows* self, std::int64_t width) {
                require(width > 0, "SparseRows: width must be at least 1");
                new (self) SparseRows(width);
            },
            "width"_a)
        .def_prop_ro("rows", &SparseRows::rows, "How many were added.")
        .def_prop_ro("bytes", &SparseRows::bytes, "What they take.")
        .def(
            "add",
            [](SparseRows& self, In<float, 2> rows) {
                add_rows(self, rows.data(), rows.shape(0), rows.shape(1), Number::float32);
            },
            "rows"_a.noconvert(), "Add the first columns of float32 rows, (n, w).")
        .def(
            "add",
            [](SparseRows& self, In<std::uint16_t, 2> rows, bool brain) {
                add_rows(self, rows.data(), rows.shape(0), rows.shape(1), brain ? Number::bfloat16 : Number::float16);
            },
            "rows"_a.noconvert(), nb::kw_only(), "bfloat16"_a,
            "The same from the bits of 16-bit numbers, (n, w) uint16: float16, or bfloat16.")
        .def(
            "add",
            [](SparseRows& self, In<std::int8_t, 2> rows, In<float> scales) {
                require(static_cast<std::int64_t>(scales.shape(0)) >= self.width(), "SparseRows: fewer scales than columns");
                add_rows(self, rows.data(), rows.shape(0), rows.shape(1), Number::scaled_int8, scales.data());
            },
            "rows"_a.noconvert(), nb::kw_only(), "scales"_a.noconvert(),
            "The same from int8 (n, w), each column times its scale, float32 (w,).")
        .def(
            "gather",
            [](const SparseRows& self, In<std::int64_t> rows, Out<float, 2> out, int threads) {
                require(out.shape(0) == rows.shape(0) && static_cast<std::int64_t>(out.shape(1)) == self.width(),
                        "gather: out has another shape than the rows");
                nb::gil_scoped_release released;
                self.gather(rows.data(), static_cast<std::int64_t>(rows.shape(0)), out.data(), threads);
            },
            "rows"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 0,
            "out[i] = row rows[i], with the bits that `gather` gives. int64 (m,), float32 (m, width).");
}
