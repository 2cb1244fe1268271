// Python bindings of csrc/io. Errors: std::invalid_argument -> ValueError, IoError -> OSError(errno, text, path),
// other std::system_error -> OSError(errno, text), std::runtime_error -> RuntimeError.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "io/crc32c.h"
#include "io/dry_buffer.h"
#include "io/file.h"
#include "io/partition_buffer.h"
#include "io/probe.h"
#include "io/transfer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Released = nb::call_guard<nb::gil_scoped_release>;

void translate(const std::exception_ptr& raised, void*) {
    try {
        std::rethrow_exception(raised);
    } catch (const marius::IoError& error) {
        nb::object args = nb::make_tuple(error.code().value(), error.detail, error.path);
        PyErr_SetObject(PyExc_OSError, args.ptr());
    } catch (const std::system_error& error) {
        nb::object args = nb::make_tuple(error.code().value(), error.what());
        PyErr_SetObject(PyExc_OSError, args.ptr());
    }
}

nb::object memory_of(const marius::PartitionBuffer& buffer) {
    auto memory = buffer.memory();
    if (!memory) throw std::runtime_error(buffer.shape().directory + ": the buffer is closed");
    const std::size_t stride = buffer.shape().stride;
    const std::size_t rows = static_cast<std::size_t>(buffer.shape().slots) * buffer.slot_rows();
    auto data = memory->data();
    nb::capsule owner(new std::shared_ptr<marius::HugeMemory>(std::move(memory)),
                      [](void* memory) noexcept { delete static_cast<std::shared_ptr<marius::HugeMemory>*>(memory); });
    return nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<2>>(data, {rows, stride}, owner).cast();
}

nb::dict counters_of(const marius::PartitionBuffer& buffer) {
    const marius::BufferCounters c = buffer.counters();
    nb::dict result;
    result["bytes_read"] = c.bytes_read;
    result["bytes_written"] = c.bytes_written;
    result["loads"] = c.loads;
    result["writes"] = c.writes;
    result["read_s"] = c.read_s;
    result["write_s"] = c.write_s;
    result["wait_s"] = c.wait_s;
    return result;
}

std::vector<std::tuple<std::int64_t, bool, double, double>> past_of(marius::PartitionBuffer& buffer) {
    std::vector<std::tuple<std::int64_t, bool, double, double>> result;
    for (const marius::PastTransfer& one : buffer.take_past())
        result.emplace_back(one.partition, one.is_write, one.begin, one.end);
    return result;
}

nb::dict probe(const std::string& directory) {
    const marius::Support found = marius::probe(directory);
    nb::dict result;
    result["direct_io"] = found.direct_io;
    result["hard_links"] = found.hard_links;
    result["huge_pages"] = found.huge_pages;
    result["crc32c_instruction"] = found.crc32c;
    result["memory_total"] = found.memory_total;
    result["memory_free"] = found.memory_free;
    return result;
}

void read_file_range(std::string path, std::uint64_t offset, Bytes out, bool direct, int threads) {
    marius::read_file({.path = std::move(path),
                       .memory = reinterpret_cast<std::byte*>(out.data()),
                       .length = out.size(),
                       .offset = offset,
                       .direct = direct},
                      threads);
}

std::uint32_t write_file(std::string path, ConstBytes data, bool direct, int threads) {
    return marius::write_file({.path = std::move(path),
                               .memory = reinterpret_cast<const std::byte*>(data.data()),
                               .length = data.size(),
                               .direct = direct},
                              threads)
        .checksum;
}

std::uint32_t write_file_range(std::string path, std::uint64_t offset, ConstBytes data, bool direct, int threads) {
    return marius::write_file({.path = std::move(path),
                               .memory = reinterpret_cast<const std::byte*>(data.data()),
                               .length = data.size(),
                               .offset = offset,
                               .direct = direct,
                               .in_place = true},
                              threads)
        .checksum;
}

void crc32c_stretches(ConstBytes data, nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> ends,
                      std::uint64_t size, nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> checksums) {
    if (checksums.size() != ends.size()) throw std::invalid_argument("ends, checksums: one entry for each stretch");
    std::uint64_t begin = 0;
    for (std::size_t s = 0; s < ends.size(); ++s) {
        const std::uint64_t end = static_cast<std::uint64_t>(ends.data()[s]) * size;
        if (end < begin || end > data.size()) throw std::invalid_argument("ends: they ascend inside the data");
        checksums.data()[s] = marius::crc32c(data.data() + begin, end - begin, checksums.data()[s]);
        begin = end;
    }
}

}  // namespace

void bind_io(nb::module_& m) {
    nb::register_exception_translator(translate);

    m.def(
        "crc32c", [](ConstBytes data, std::uint32_t initial) { return marius::crc32c(data.data(), data.size(), initial); },
        "data"_a.noconvert(), "initial"_a = 0, Released(),
        "CRC-32C of uint8 data (n,), continuing the checksum `initial` of the bytes before.");
    m.def("crc32c_stretches", &crc32c_stretches, "data"_a.noconvert(), "ends"_a.noconvert(), "size"_a, "checksums"_a.noconvert(),
          Released(), "Continue checksums[s] by the elements of `size` bytes of `data` from ends[s - 1] to ends[s].");
    m.def("crc32c_combine", &marius::crc32c_combine, "first"_a, "second"_a, "second_size"_a,
          "CRC-32C of A followed by B from those of A and B and B's length in bytes.");
    m.def("read_file_range", &read_file_range, "path"_a, "offset"_a, "out"_a.noconvert(), "direct"_a = true, "threads"_a = 4,
          Released(), "Fill uint8 `out` (n,) with the file's bytes from `offset`. OSError; RuntimeError when it ends early.");
    m.def("write_file", &write_file, "path"_a, "data"_a.noconvert(), "direct"_a = true, "threads"_a = 4, Released(),
          "Write uint8 data (n,) beside `path`, rename over it, unsynced. Returns the CRC-32C. OSError.");
    m.def(
        "write_file_range", &write_file_range, "path"_a, "offset"_a, "data"_a.noconvert(), "direct"_a = true, "threads"_a = 4,
        Released(),
        "Write uint8 data (n,) into the file from `offset`, a multiple of 4096, unsynced: it then has the bytes before and these. "
        "Returns the CRC-32C of data. OSError.");
    m.def("probe", &probe, "directory"_a, "What the machine and the folder's file system support, and its memory in bytes.");

    using marius::PartitionBuffer;
    nb::class_<PartitionBuffer>(m, "PartitionBuffer", "Partitions of a table in memory; see csrc/io/partition_buffer.h.")
        .def(
            "__init__",
            [](PartitionBuffer* self, std::string directory, int partitions, std::uint64_t rows, std::uint64_t stride, int slots,
               int threads, bool direct, int finite) {
                new (self) PartitionBuffer({std::move(directory), partitions, rows, stride, slots, finite}, threads, direct);
            },
            "directory"_a, "partitions"_a, "rows"_a, "stride"_a, "slots"_a, "threads"_a = 4, "direct"_a = true, "finite"_a = 0)
        .def_prop_ro("memory", &memory_of, "uint8 (slots * slot_rows, stride); stays valid after close.")
        .def_prop_ro("slot_rows", &PartitionBuffer::slot_rows)
        .def_prop_ro("direct", &PartitionBuffer::direct)
        .def("enter", &PartitionBuffer::enter, "now"_a, "next"_a, Released(),
             "Make `now` resident; prefetch what fits of `next`; let all else go in the background.")
        .def("adopt", &PartitionBuffer::adopt, "partition"_a, Released(),
             "Give a partition a zeroed slot without reading its file; it is dirty. Returns the slot.")
        .def("slot", &PartitionBuffer::slot, "partition"_a)
        .def(
            "state", [](const PartitionBuffer& self, std::int64_t k) { return to_string(self.state(k)); }, "partition"_a)
        .def("mark_dirty", &PartitionBuffer::mark_dirty, "partitions"_a)
        .def("flush", &PartitionBuffer::flush, Released(), "Write all that is dirty and wait for every write.")
        .def("await_writes", &PartitionBuffer::await_writes, Released(), "Wait for the writes under way; write nothing more.")
        .def("checksums", &PartitionBuffer::checksums, "CRC-32C by partition, as last written or expected.")
        .def("expect", &PartitionBuffer::expect, "checksums"_a, "Verify these whenever the partitions are loaded.")
        .def("counters", &counters_of)
        .def("take_past", &past_of,
             "The transfers that ended since the last call: (partition, whether it was a write, begin, end), in order. "
             "Times are seconds of time.perf_counter().")
        .def("close", &PartitionBuffer::close, Released(), "Wait for writes under way, end the threads; dirty data is dropped.");

    using marius::DryBuffer;
    nb::class_<DryBuffer>(m, "DryBuffer",
                          "What a PartitionBuffer loads and writes, found out without memory and files: it decides the same, and "
                          "every transfer ends as soon as it starts.")
        .def(nb::init<int, int>(), "partitions"_a, "slots"_a)
        .def("enter", &DryBuffer::enter, "now"_a, "next"_a, "Make `now` resident, load what fits of `next`, let all else go.")
        .def("adopt", &DryBuffer::adopt, "partition"_a, "Make a partition resident and dirty without loading it.")
        .def("mark_dirty", &DryBuffer::mark_dirty, "partitions"_a)
        .def("flush", &DryBuffer::flush, "Write all that is dirty.")
        .def(
            "moved",
            [](DryBuffer& self) {
                marius::Transfers moved = self.moved();
                return std::pair(std::move(moved.loads), std::move(moved.writes));
            },
            "The partitions loaded and those written since the last call, in order.");
}
