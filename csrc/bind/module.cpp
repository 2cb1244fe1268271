// The Python module. Each native package has a file of bindings.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_io(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_neighbours(nb::module_& m);
void bind_score(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_graph_ids(nb::module_& m);
void bind_tails(nb::module_& m);
void bind_sampler(nb::module_& m);
void bind_padded(nb::module_& m);
void bind_partitioner(nb::module_& m);
void bind_cuda(nb::module_& m);

NB_MODULE(_native, m) {
    m.doc() =
        "Native core of marius_lite: partition I/O, row kernels, distances, attention, graph building, neighbour sampling, the way to CUDA.";
    bind_io(m);
    bind_rows(m);
    bind_sparse(m);
    bind_neighbours(m);
    bind_score(m);
    bind_layers(m);
    bind_graph(m);
    bind_graph_ids(m);
    bind_tails(m);
    bind_sampler(m);
    bind_padded(m);
    bind_partitioner(m);
    bind_cuda(m);
}
