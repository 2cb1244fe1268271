// The CUDA library for Python. It is loaded from a path at run time, so nothing here needs CUDA. Addresses and streams are ints.
#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/rates.h"
#include "cuda/api.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Address = std::uintptr_t;
using Bytes = nb::ndarray<std::uint8_t, nb::c_contig, nb::device::cpu>;

template <class T = void> T* at(Address address) { return reinterpret_cast<T*>(address); }

// Calls a function that only puts work on a stream; its error becomes a RuntimeError. It keeps the GIL: it takes microseconds,
// and another thread that took the GIL meanwhile may keep it for longer than that.
template <class Function, class... Arguments>
void launch(Function function, Arguments... arguments) {
    marius_cuda_error error = {};
    if (function(arguments..., &error) != 0) throw std::runtime_error(error.text);
}

// Calls any function of the library, without the GIL.
template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
    marius_cuda_error error = {};
    int code;
    {
        nb::gil_scoped_release released;
        code = function(arguments..., &error);
    }
    if (code != 0) throw std::runtime_error(error.text);
}

// Bytes above which a copy may take the host a while: memory that is not pinned is copied by it.
constexpr std::uint64_t LONG_COPY = 1 << 20;

// The number of a name in the interface: its position among `names`.
int number_of(std::string_view what, const std::string& name, std::initializer_list<const char*> names) {
    std::string all;
    int number = 0;
    for (const char* known : names) {
        if (name == known) return number;
        all += (number++ ? ", " : "") + std::string(known);
    }
    throw std::invalid_argument(std::string(what) + " '" + name + "' is none of " + all);
}

int type_of(const std::string& name) { return number_of("type", name, {"float32", "float16", "bfloat16", "bytes"}); }

// Pinned memory of an array, which it keeps alive.
class Pinned {
public:
    Pinned(const marius_cuda_api* api, Bytes array, std::uint64_t boundary, int device, int threads)
        : api_(api), array_(array), bytes_(array.size()) {
        call(api->pin, device, static_cast<void*>(array.data()), bytes_, boundary, threads, &handle_, &address_, &chunks_);
    }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    ~Pinned() {
        try {
            close();
        } catch (const std::exception&) {  // a destructor cannot report it
        }
    }

    void close() {
        void* handle = std::exchange(handle_, nullptr);
        const Bytes kept = std::exchange(array_, Bytes());
        if (handle) call(api_->unpin, handle);
    }

    std::uint64_t address() const {
        if (!handle_) throw std::runtime_error("the pinned memory is closed");
        return address_;
    }
    int chunks() const { return chunks_; }
    std::uint64_t bytes() const { return bytes_; }

private:
    const marius_cuda_api* api_;
    Bytes array_;
    std::uint64_t bytes_, address_ = 0;
    void* handle_ = nullptr;
    int chunks_ = 0;
};

// The fields of a stage of neighbour sampling. Most stay from stage to stage.
struct NeighbourJob {
    void set(const nb::kwargs& given) {
        for (const auto& [name, value] : given) fill(nb::cast<std::string_view>(name), value);
    }

    marius_cuda_neighbours fields = {};

private:
    // Sets the field of that name to a value of 8 bytes.
    void fill(std::string_view name, nb::handle value) {
        // clang-format off
#define FIELD(field) {#field, offsetof(marius_cuda_neighbours, field)}
        static const std::map<std::string_view, std::size_t> places = {
            FIELD(count), FIELD(lists), FIELD(resident), FIELD(resident_count), FIELD(rows_per_partition), FIELD(wide),
            FIELD(excluded_dst), FIELD(excluded_src), FIELD(excluded_count), FIELD(removed), FIELD(seed), FIELD(hop), FIELD(fanout),
            FIELD(node_count), FIELD(nodes), FIELD(counts), FIELD(in_edges), FIELD(first), FIELD(candidates), FIELD(removals),
            FIELD(shifts), FIELD(starts), FIELD(drawn), FIELD(drawn_set), FIELD(ids), FIELD(rel), FIELD(keys), FIELD(values),
            FIELD(mask), FIELD(known), FIELD(slots), FIELD(is_new), FIELD(rank), FIELD(labels), FIELD(new_nodes), FIELD(new_rows)};
#undef FIELD
        // clang-format on
        static_assert(sizeof(marius_cuda_neighbours) == 36 * 8);
        const auto place = places.find(name);
        if (place == places.end()) throw std::invalid_argument("neighbours: there is no field " + std::string(name));
        const std::uint64_t bits =
            name == "fanout" ? static_cast<std::uint64_t>(nb::cast<std::int64_t>(value)) : nb::cast<std::uint64_t>(value);
        std::memcpy(reinterpret_cast<char*>(&fields) + place->second, &bits, sizeof bits);
    }
};

class CudaLibrary {
public:
    // The library stays loaded until the program ends: streams may still call into it.
    explicit CudaLibrary(const std::string& path) {
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            PyErr_SetString(PyExc_OSError, ("cannot load the CUDA library: " + std::string(dlerror())).c_str());
            throw nb::python_error();
        }
        const auto entry = reinterpret_cast<decltype(&marius_cuda)>(dlsym(library, "marius_cuda"));
        if (!entry) throw std::runtime_error(path + " is not the CUDA library: it has no marius_cuda; install marius_lite again");
        api_ = entry();
        if (api_->version != MARIUS_CUDA_VERSION)
            throw std::runtime_error(path + " has version " + std::to_string(api_->version) + " of the interface, version " +
                                     std::to_string(MARIUS_CUDA_VERSION) +
                                     " is needed; install marius-lite and marius-lite-cuda of one version");
    }

    int device_count() const {
        int count = 0;
        call(api_->device_count, &count);
        return count;
    }

    nb::dict device_facts(int device) const {
        marius_cuda_facts facts = {};
        call(api_->device_facts, device, &facts);
        nb::dict result;
        result["name"] = nb::str(facts.name);
        result["pci_bus_id"] = nb::str(facts.pci_bus_id);
        result["compute_capability"] = nb::make_tuple(facts.major, facts.minor);
        result["multiprocessors"] = facts.multiprocessors;
        result["can_map_host_memory"] = facts.can_map_host_memory != 0;
        result["driver_version"] = nb::make_tuple(facts.driver_version / 1000, facts.driver_version % 1000 / 10);
        result["runtime_version"] = nb::make_tuple(facts.runtime_version / 1000, facts.runtime_version % 1000 / 10);
        result["memory"] = facts.memory;
        return result;
    }

    Pinned* pin(Bytes array, std::uint64_t boundary, int device, int threads) const {
        return new Pinned(api_, std::move(array), boundary, device, threads);
    }

    void copy_rows(int device, Address stream, Address source, Address target, std::int64_t count, std::int64_t source_stride,
                   std::int64_t target_stride, std::int64_t columns, const std::string& source_type,
                   const std::string& target_type, Address source_rows, Address target_rows, int index_bytes, int max_sms,
                   Address sm_flags) const {
        const marius_cuda_copy_rows args = {.source = at(source),
                                            .target = at(target),
                                            .source_rows = at(source_rows),
                                            .target_rows = at(target_rows),
                                            .count = count,
                                            .columns = columns,
                                            .source_stride = source_stride,
                                            .target_stride = target_stride,
                                            .source_type = type_of(source_type),
                                            .target_type = type_of(target_type),
                                            .index_bytes = index_bytes,
                                            .max_sms = max_sms,
                                            .sm_flags = at<std::uint32_t>(sm_flags)};
        launch(api_->copy_rows, device, at(stream), &args);
    }

    void segment_sum(int device, Address stream, const std::vector<std::pair<Address, std::int64_t>>& parts, Address order,
                     Address starts, std::int64_t segments, Address out, std::int64_t dim) const {
        std::vector<marius_cuda_part> given;
        given.reserve(parts.size());
        for (const auto& [data, count] : parts) given.push_back({at<const float>(data), count});
        const marius_cuda_segment_sum args = {.parts = given.data(),
                                              .part_count = static_cast<int>(given.size()),
                                              .order = at<const std::int32_t>(order),
                                              .starts = at<const std::int32_t>(starts),
                                              .segments = segments,
                                              .dim = dim,
                                              .out = at<float>(out)};
        launch(api_->segment_sum, device, at(stream), &args);
    }

    void row_step(int device, Address stream, const std::string& kind, Address block, std::int64_t count, std::int64_t stride,
                  std::int64_t dim, Address grads, float lr, const nb::kwargs& options) const {
        const marius::formulas::Rates rates = rates_of(kind, lr, options);
        marius_cuda_row_step args = {.optimizer = kind.c_str(),
                                     .block = at<float>(block),
                                     .count = count,
                                     .stride = stride,
                                     .dim = dim,
                                     .grads = at<const float>(grads),
                                     .lr = lr,
                                     .options = {}};
        std::copy(std::begin(rates.options), std::end(rates.options), args.options);
        launch(api_->row_step, device, at(stream), &args);
    }

    void copy(int device, Address stream, Address target, Address source, std::uint64_t bytes) const {
        const void* const from = at(source);
        if (bytes > LONG_COPY) {
            call(api_->copy, device, at(stream), at(target), from, bytes);
        } else {
            launch(api_->copy, device, at(stream), at(target), from, bytes);
        }
    }

    void softmax_loss(int device, Address stream, Address positive, Address negatives, Address losses, std::int64_t rows,
                      std::int64_t columns) const {
        const marius_cuda_softmax_loss args = {.positive = at<float>(positive),
                                               .negatives = at<float>(negatives),
                                               .losses = at<float>(losses),
                                               .rows = rows,
                                               .columns = columns};
        launch(api_->softmax_loss, device, at(stream), &args);
    }

    void neighbours(int device, Address stream, const std::string& stage, const NeighbourJob& job) const {
        const int number =
            number_of("stage", stage, {"find_excluded", "expand", "draw", "fetch", "insert", "mark_new", "label", "keep_labels"});
        launch(api_->neighbours, device, at(stream), number, &job.fields);
    }

    template <auto function>
    void host_rows(int device, Address stream, Address table, std::int64_t table_stride, Address rows, std::int64_t count,
                   Address block, std::int64_t block_stride, std::int64_t bytes, int threads) const {
        const marius_cuda_host_rows args = {.table = at(table),
                                            .block = at(block),
                                            .rows = at<const std::int64_t>(rows),
                                            .count = count,
                                            .table_stride = table_stride,
                                            .block_stride = block_stride,
                                            .bytes = bytes,
                                            .threads = threads};
        launch(api_->*function, device, at(stream), &args);
    }

private:
    const marius_cuda_api* api_;
};

void bind_host_rows(nb::class_<CudaLibrary>& library) {
    const auto bind = [&](const char* name, auto method, const char* doc) {
        library.def(name, method, nb::kw_only(), "device"_a, "stream"_a, "table"_a, "table_stride"_a, "rows"_a, "count"_a,
                    "block"_a, "block_stride"_a, "bytes"_a, "threads"_a = 0, doc);
    };
    bind("host_gather", &CudaLibrary::host_rows<&marius_cuda_api::host_gather>,
         "On the CPU, in the stream's order: block[i] = the first `bytes` bytes of table[rows[i]]; int64 rows; strides "
         "in bytes; all host memory, which must not change until the stream has done it.");
    bind("host_scatter", &CudaLibrary::host_rows<&marius_cuda_api::host_scatter>,
         "On the CPU, in the stream's order: table[rows[i]] = block[i]; as host_gather. Rows do not repeat.");
}

}  // namespace

void bind_cuda(nb::module_& m) {
    nb::class_<Pinned>(m, "Pinned", "Pinned host memory, which keeps its array alive. Unpinned by close() or with the object.")
        .def_prop_ro("address", &Pinned::address, "Where devices see the first byte. RuntimeError when closed.")
        .def_prop_ro("chunks", &Pinned::chunks, "Registrations it took.")
        .def_prop_ro("bytes", &Pinned::bytes)
        .def("close", &Pinned::close, "Unpin; closing twice is harmless. No device may use the memory any more.");

    nb::class_<NeighbourJob>(m, "NeighbourJob", "What a stage of neighbour sampling works on; at first all 0.")
        .def(nb::init<>())
        .def("set", &NeighbourJob::set, "fields"_a,
             "Set fields of marius_cuda_neighbours in csrc/cuda/api.h: addresses and numbers. The others stay.");

    nb::class_<CudaLibrary> library(m, "CudaLibrary",
                                    "The CUDA library in a file; see csrc/cuda/api.h. OSError when it cannot be loaded, "
                                    "RuntimeError when it is another version, and for every error of a call. Launches "
                                    "return at once. Memory they name must live until the stream has done their work.");
    library.def(nb::init<const std::string&>(), "path"_a)
        .def("device_count", &CudaLibrary::device_count, "GPUs; 0 without a driver.")
        .def("device_facts", &CudaLibrary::device_facts, "device"_a,
             "name, pci_bus_id, compute_capability, multiprocessors, can_map_host_memory, driver_version, "
             "runtime_version, memory (bytes).")
        .def("pin", &CudaLibrary::pin, "array"_a.noconvert(), "boundary"_a, "device"_a, "threads"_a = 0,
             "Pin a writable, contiguous uint8 array in chunks that end on multiples of `boundary` bytes; its pages are "
             "touched by `threads` threads first (0: every CPU).")
        .def("copy_rows", &CudaLibrary::copy_rows, nb::kw_only(), "device"_a, "stream"_a, "source"_a, "target"_a, "count"_a,
             "source_stride"_a, "target_stride"_a, "columns"_a, "source_type"_a = "float32", "target_type"_a = "float32",
             "source_rows"_a = 0, "target_rows"_a = 0, "index_bytes"_a = 8, "max_sms"_a = 0, "sm_flags"_a = 0,
             "target[target_rows[i]] = source[source_rows[i]] for i < count; rows 0: i itself. Strides in bytes; types "
             "float32, float16, bfloat16, or bytes (copied as they are); target rows do not repeat. max_sms: "
             "multiprocessors taken at most, 0: all; sm_flags: 1024 uint32, set to 1 for each multiprocessor that it ran on.")
        .def("segment_sum", &CudaLibrary::segment_sum, nb::kw_only(), "device"_a, "stream"_a, "parts"_a, "order"_a, "starts"_a,
             "segments"_a, "out"_a, "dim"_a,
             "out[s] = sum of the gradients at positions order[starts[s]:starts[s+1]] of at most 8 parts (address, count) "
             "laid end to end, in that order; float32 (segments, dim); int32 order and starts. Positions are not checked.")
        .def("row_step", &CudaLibrary::row_step, nb::kw_only(), "device"_a, "stream"_a, "kind"_a, "block"_a, "count"_a,
             "stride"_a, "dim"_a, "grads"_a, "lr"_a, "options"_a,
             "One step of one of ROW_OPTIMIZERS on records 0 .. count - 1 of a block, `stride` bytes apart.")
        .def("copy", &CudaLibrary::copy, nb::kw_only(), "device"_a, "stream"_a, "target"_a, "source"_a, "bytes"_a,
             "Copy bytes between any two memories, in the stream's order.")
        .def("softmax_loss", &CudaLibrary::softmax_loss, nb::kw_only(), "device"_a, "stream"_a, "positive"_a, "negatives"_a,
             "losses"_a, "rows"_a, "columns"_a,
             "losses[r] = log(exp(positive[r]) + sum of exp(negatives[r])) - positive[r]; float32 (rows,), (rows, columns), "
             "contiguous. Scores are overwritten with the gradient of the losses' sum: 0 for a negative of -inf. A NaN "
             "makes its row's loss NaN. Does not wait, takes no memory: a graph may capture it.")
        .def("neighbours", &CudaLibrary::neighbours, "device"_a, "stream"_a, "stage"_a, "job"_a,
             "Run a stage of neighbour sampling: find_excluded, expand, draw, fetch, insert, mark_new, label or keep_labels.");
    bind_host_rows(library);
}
