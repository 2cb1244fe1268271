// Padded samples for Python. Arrays are C-contiguous, on the CPU, of exactly these dtypes: nothing is converted.
#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>

#include "bind/arrays.h"
#include "bind/growing.h"
#include "graph/padded.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace marius;
using namespace marius::bind;

namespace {

nb::dict padded_sample(In<int64_t> nodes, In<int64_t> rows, In<int32_t> hop_nodes, In<int64_t> indptr, In<int32_t> indices,
                       In<int32_t> hop_edges, std::optional<In<uint32_t>> rel, In<int64_t> more_nodes, In<int64_t> more_edges) {
    const size_t hops = hop_edges.size();
    require(hop_nodes.size() == hops + 1 && more_nodes.size() == hops + 1 && more_edges.size() == hops,
            "padded_sample: a number of nodes for each hop and the seeds, and one of edges for each hop");
    int64_t all = 0, expanded = 0, edges = 0;
    for (size_t h = 0; h <= hops; ++h) {
        require(hop_nodes.data()[h] >= 0 && (h == hops || hop_edges.data()[h] >= 0), "padded_sample: a hop's size is below 0");
        expanded = all;
        all += hop_nodes.data()[h];
        edges += h < hops ? hop_edges.data()[h] : 0;
    }
    const auto length = [](const auto& array) { return static_cast<int64_t>(array.size()); };
    require(length(nodes) == all && length(rows) == all && length(indptr) == expanded + 1 && length(indices) == edges &&
                (!rel || length(*rel) == edges),
            "padded_sample: nodes, rows, indptr, indices or rel are not as long as the hops say");
    static constexpr uint32_t none = 0;
    const uint32_t* relations = !rel ? nullptr : rel->size() ? rel->data() : &none;
    const SampleView view{static_cast<int64_t>(hops), nodes.data(),  rows.data(),    hop_nodes.data(),
                          hop_edges.data(),           indptr.data(), indices.data(), relations};
    PaddedSample found;
    {
        nb::gil_scoped_release released;
        found = padded(view, more_nodes.data(), more_edges.data());
    }
    nb::dict out;
    out["nodes"] = array_of(std::move(found.nodes));
    out["rows"] = array_of(std::move(found.rows));
    out["indptr"] = array_of(std::move(found.indptr));
    out["indices"] = array_of(std::move(found.indices));
    out["rel"] = rel ? array_of(std::move(found.rel)) : nb::none();
    return out;
}

}  // namespace

void bind_padded(nb::module_& m) {
    m.def(
        "padded_sample", &padded_sample, "nodes"_a.noconvert(), "rows"_a.noconvert(), "hop_nodes"_a.noconvert(),
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "hop_edges"_a.noconvert(), "rel"_a.noconvert().none(),
        "more_nodes"_a.noconvert(), "more_edges"_a.noconvert(),
        "A sample with more_nodes[h] nodes, the first seed's, behind those of hop h, int64 (hops + 1,), and more_edges[h] edges, "
        "int64 (hops,), from each of these to itself: a dict of nodes, rows, indptr, indices, rel as `sample` gives them.");
}
