#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_io(nb::module_&) {}
