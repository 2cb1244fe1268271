// Row kernels for Python. Arrays are C-contiguous, on the CPU, of exactly these dtypes: nothing is converted.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "bind/rates.h"
#include "rows/bfloat16.h"
#include "rows/gather.h"
#include "rows/held.h"
#include "rows/philox.h"
#include "rows/pick.h"
#include "rows/segment_sum.h"
#include "rows/sort.h"
#include "rows/steps.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T> using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Released = nb::call_guard<nb::gil_scoped_release>;

void require(bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
}

template <class T>
void gather(Matrix<const T> table, Vector<const std::int64_t> rows, Matrix<float> out, marius::Number number, int threads,
            const float* scales = nullptr) {
    require(out.shape(0) == rows.shape(0),
            "gather: out has " + std::to_string(out.shape(0)) + " rows, " + std::to_string(rows.shape(0)) + " asked for");
    require(out.shape(1) <= table.shape(1), "gather: out has more columns than the table's " + std::to_string(table.shape(1)));
    const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    marius::gather({table.data(), size(table.shape(0)), size(table.shape(1)), number, scales}, rows.data(), size(rows.shape(0)),
                   out.data(), size(out.shape(1)), threads);
}

template <class T> nb::object array_of(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// Numbers from which work on them is done without the GIL. Less takes so little time that another thread, which may keep the GIL
// for longer, is not let in between.
constexpr std::size_t MANY = 1 << 13;

template <class Work> auto worked(std::size_t numbers, Work work) {
    if (numbers < MANY) return work();
    nb::gil_scoped_release released;
    return work();
}

std::int64_t length(const auto& vector) { return static_cast<std::int64_t>(vector.shape(0)); }

nb::tuple sort_rows(Vector<const std::int64_t> rows) {
    const auto work = [&] {
        marius::SortedRows sorted = marius::sort_rows(rows.data(), length(rows));
        sorted.unique.shrink_to_fit();  // they live as long as the batch
        sorted.starts.shrink_to_fit();
        return sorted;
    };
    marius::SortedRows sorted = worked(rows.shape(0), work);
    return nb::make_tuple(array_of(std::move(sorted.unique)), array_of(std::move(sorted.order)),
                          array_of(std::move(sorted.starts)));
}

nb::tuple sort_and_fill(Vector<const std::int64_t> rows, std::int64_t spare, std::int64_t spares) {
    require(spares > 0, "sort_and_fill: spares must be at least 1");
    const auto work = [&] {
        std::vector<std::int32_t> inverse(rows.shape(0));
        marius::SortedRows sorted = marius::sort_rows(rows.data(), length(rows), inverse.data());
        const std::size_t found = sorted.unique.size();
        sorted.unique.resize(rows.shape(0));
        std::int64_t next = 0;
        for (std::size_t i = found; i < sorted.unique.size(); ++i) {
            sorted.unique[i] = spare + next;
            next = next + 1 < spares ? next + 1 : 0;
        }
        sorted.starts.resize(rows.shape(0) + 1, static_cast<std::int32_t>(rows.shape(0)));
        return std::pair(std::move(sorted), std::move(inverse));
    };
    auto [sorted, inverse] = worked(rows.shape(0), work);
    return nb::make_tuple(array_of(std::move(sorted.unique)), array_of(std::move(sorted.order)),
                          array_of(std::move(sorted.starts)), array_of(std::move(inverse)));
}

void draw_below(std::uint64_t seed, std::int64_t bound, Vector<std::int64_t> out) {
    worked(out.shape(0), [&] { marius::draw_below(seed, bound, out.data(), length(out)); });
}

nb::object shuffled(std::uint64_t seed, std::int64_t count) {
    require(count >= 0, "shuffled: count is negative");
    std::vector<std::uint32_t> order(static_cast<std::size_t>(count));
    worked(count, [&] { marius::shuffled(seed, order.data(), count); });
    return array_of(std::move(order));
}

nb::object picked(Vector<const std::uint32_t> column, Vector<const std::uint32_t> places) {
    return array_of(
        worked(places.shape(0), [&] { return marius::picked(column.data(), length(column), places.data(), length(places)); }));
}

// Copies arrays of any kind into `out`, each at a multiple of `alignment` bytes, the first one at `start`. Returns where they begin, and
// where the next one would.
std::vector<std::int64_t> pack(const std::vector<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>& arrays,
                               Vector<std::uint8_t> out, std::int64_t start, std::int64_t alignment) {
    require(start >= 0 && alignment > 0, "pack: start is negative, or alignment not positive");
    std::vector<std::int64_t> starts;
    starts.reserve(arrays.size() + 1);
    std::int64_t bytes = 0;
    for (const auto& array : arrays) {
        const auto size = static_cast<std::int64_t>(array.nbytes());
        require(size <= length(out) - start, "a packet of " + std::to_string(length(out)) + " bytes cannot take " +
                                                 std::to_string(size) + " more than " + std::to_string(start));
        starts.push_back(start);
        bytes += size;
        start += (size + alignment - 1) / alignment * alignment;
    }
    starts.push_back(start);
    worked(bytes, [&] {
        for (std::size_t i = 0; i < arrays.size(); ++i)
            if (arrays[i].nbytes()) std::memcpy(out.data() + starts[i], arrays[i].data(), arrays[i].nbytes());
    });
    return starts;
}

nb::object inverse_of(Vector<const std::int32_t> order, Vector<const std::int32_t> starts) {
    require(starts.shape(0) > 0, "inverse_of: starts are empty");
    return array_of(worked(order.shape(0),
                           [&] { return marius::inverse_of(order.data(), length(order), starts.data(), length(starts) - 1); }));
}

nb::tuple group_rows(Vector<const std::int64_t> group_of, std::int64_t group_count, std::int64_t piece) {
    require(group_count >= 0 && piece > 0, "group_rows: group_count must be at least 0, piece at least 1");
    marius::GroupedRows grouped = worked(group_of.shape(0) + group_count, [&] {
        return marius::group_rows(group_of.data(), length(group_of), group_count, piece);
    });
    return nb::make_tuple(array_of(std::move(grouped.order)), array_of(std::move(grouped.pieces)),
                          array_of(std::move(grouped.groups)));
}

nb::tuple common_rows(Vector<const std::int64_t> left, Vector<const std::int64_t> right) {
    marius::CommonRows common = worked(left.shape(0) + right.shape(0), [&] {
        return marius::common_rows(left.data(), length(left), right.data(), length(right));
    });
    return nb::make_tuple(array_of(std::move(common.left)), array_of(std::move(common.right)));
}

nb::tuple place_rows(Vector<const std::int32_t> places, Vector<const std::int64_t> nodes, std::int64_t first) {
    marius::PlacedRows placed = worked(
        nodes.shape(0), [&] { return marius::place_rows(places.data(), length(places), nodes.data(), length(nodes), first); });
    return nb::make_tuple(array_of(std::move(placed.rows)), array_of(std::move(placed.others)));
}

nb::tuple divide_rows(const marius::HeldRows& held, Vector<const std::int64_t> places) {
    marius::DividedRows divided = worked(places.shape(0), [&] { return held.divide(places.data(), length(places)); });
    return nb::make_tuple(array_of(std::move(divided.rows)), array_of(std::move(divided.held)),
                          array_of(std::move(divided.inverse)));
}

void segment_sum(const std::vector<Matrix<const float>>& parts, Vector<const std::int32_t> order,
                 Vector<const std::int32_t> starts, Matrix<float> out, int threads) {
    std::vector<marius::GradPart> grads;
    for (const auto& part : parts) {
        require(part.shape(1) == out.shape(1),
                "segment_sum: a part has " + std::to_string(part.shape(1)) + " columns, out " + std::to_string(out.shape(1)));
        grads.push_back({part.data(), static_cast<std::int64_t>(part.shape(0))});
    }
    require(starts.shape(0) == out.shape(0) + 1, "segment_sum: starts has " + std::to_string(starts.shape(0)) + " entries, out " +
                                                     std::to_string(out.shape(0)) + " rows");
    marius::segment_sum(grads, order.data(), order.shape(0), starts.data(), out.shape(0), out.data(), out.shape(1), threads);
}

template <class Column>
void step_rows(const std::string& optimizer, const Matrix<Column>& table, const Vector<const std::int64_t>& rows,
               const Matrix<const float>& grads, float lr, int threads, std::uint32_t key, const nb::kwargs& options) {
    require(grads.shape(0) == rows.shape(0),
            "row step: " + std::to_string(grads.shape(0)) + " gradients for " + std::to_string(rows.shape(0)) + " rows");
    const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    const marius::RowStep<Column> step = {table.data(),
                                          size(table.shape(0)),
                                          size(table.shape(1)),
                                          rows.data(),
                                          size(rows.shape(0)),
                                          grads.data(),
                                          size(grads.shape(1)),
                                          threads,
                                          key};
    const marius::formulas::Rates rates = rates_of(optimizer, lr, options);
    nb::gil_scoped_release released;
    marius::row_step(optimizer, step, rates);
}

// By name: the columns of state for each value and for a row, and the options.
nb::dict row_optimizers() {
    nb::dict all;
    marius::formulas::each_optimizer([&](auto optimizer) {
        nb::dict each, options;
        for (const auto& option : optimizer.options) options[option.name] = option.usual;
        each["per_value"] = optimizer.per_value;
        each["per_row"] = optimizer.per_row;
        each["options"] = options;
        all[optimizer.name] = each;
    });
    return all;
}

}  // namespace

void bind_rows(nb::module_& m) {
    m.def("default_threads", &marius::default_threads, "CPUs this process may run on; what threads=0 means.");
    m.def(
        "gather",
        [](Matrix<const float> table, Vector<const std::int64_t> rows, Matrix<float> out, int threads) {
            gather<float>(table, rows, out, marius::Number::float32, threads);
        },
        "table"_a.noconvert(), "rows"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 0,
        "out[i] = the first out.shape[1] columns of table[rows[i]]. float32 (n, w), int64 (m,), float32 (m, d).", Released());
    m.def(
        "gather",
        [](Matrix<const std::uint16_t> table, Vector<const std::int64_t> rows, Matrix<float> out, bool brain, int threads) {
            gather<std::uint16_t>(table, rows, out, brain ? marius::Number::bfloat16 : marius::Number::float16, threads);
        },
        "table"_a.noconvert(), "rows"_a.noconvert(), "out"_a.noconvert(), nb::kw_only(), "bfloat16"_a, "threads"_a = 0,
        "The same from the bits of 16-bit numbers, (n, w) uint16: float16, or bfloat16.", Released());
    m.def(
        "gather",
        [](Matrix<const std::int8_t> table, Vector<const std::int64_t> rows, Matrix<float> out, Vector<const float> scales,
           int threads) {
            require(scales.shape(0) >= out.shape(1), "gather: fewer scales than columns");
            gather<std::int8_t>(table, rows, out, marius::Number::scaled_int8, threads, scales.data());
        },
        "table"_a.noconvert(), "rows"_a.noconvert(), "out"_a.noconvert(), nb::kw_only(), "scales"_a.noconvert(), "threads"_a = 0,
        "The same from int8 (n, w), each column times its scale, float32 (w,).", Released());
    m.def("sort_rows", &sort_rows, "rows"_a.noconvert(),
          "(unique int64 (u,), order int32 (m,), starts int32 (u+1,)): unique ascends; positions "
          "order[starts[s]:starts[s+1]] hold unique[s], ascending.");
    m.def(
        "sort_and_fill", &sort_and_fill, "rows"_a.noconvert(), "spare"_a, "spares"_a,
        "(unique int64 (m,), order int32 (m,), starts int32 (m+1,), inverse int32 (m,)): what sort_rows and inverse_of give, with "
        "`spare`, `spare` + 1, ... behind the different rows, `spares` of them in turn, which stand at no position.");
    m.def("picked", &picked, "column"_a.noconvert(), "places"_a.noconvert(),
          "column[places], int64 (m,). Raises ValueError for a place that is not in the column.");
    m.def(
        "draw_below", &draw_below, "seed"_a, "bound"_a, "out"_a.noconvert(),
        "Numbers below `bound`, from 1 to 2^32 - 1, into out, int64 (n,): the first ones of numpy's Philox with the key (seed, 0).");
    m.def(
        "shuffled", &shuffled, "seed"_a, "count"_a,
        "0 to count - 1, uint32 (count,), as numpy's Philox with the key (seed, 0) shuffles them. Raises ValueError from 2^32 on.");
    m.def(
        "pack", &pack, "arrays"_a.noconvert(), "out"_a.noconvert(), "start"_a, "alignment"_a,
        "Copy arrays into out, uint8 (n,), at multiples of `alignment`, the first one at `start`. Returns where each begins, and "
        "where the next one would. Raises ValueError where they do not fit.");
    m.def("place_rows", &place_rows, "places"_a.noconvert(), "nodes"_a.noconvert(), "first"_a,
          "(rows int64 (n,), others int64 (u,)) of distinct nodes, int64 (n,). Node v has the row places[v], int32 (nodes,); the "
          "others, where that is negative, ascend, and have the rows first, first + 1, ...");
    m.def("inverse_of", &inverse_of, "order"_a.noconvert(), "starts"_a.noconvert(),
          "The segment of each position, int32 (m,): s at order[starts[s]:starts[s + 1]], of what sort_rows gave.");
    m.def("group_rows", &group_rows, "group_of"_a.noconvert(), "group_count"_a, "piece"_a,
          "Rows by group, in pieces of at most `piece` rows: (order, pieces, groups), int32. Piece p has the rows "
          "order[pieces[p]:pieces[p + 1]], group g the pieces groups[g]:groups[g + 1]. Where no group is longer than a piece, "
          "`pieces` is empty, and `groups` are rows. How many pieces there are does not depend on the groups: some are empty.");
    m.def("common_rows", &common_rows, "left"_a.noconvert(), "right"_a.noconvert(),
          "(positions in left, positions in right), int32, of the rows that stand in both; each ascends without repetition.");
    nb::class_<marius::HeldRows>(m, "HeldRows",
                                 "A set of rows, int64 (n,), ascending. It takes 0.19 bytes for each row up to the last.")
        .def(
            "__init__",
            [](marius::HeldRows* self, Vector<const std::int64_t> rows) {
                new (self) marius::HeldRows(rows.data(), length(rows));
            },
            "rows"_a.noconvert())
        .def(
            "divide", &divide_rows, "places"_a.noconvert(),
            "(rows int64 (u,), held int64 (h,), inverse int32 (m,)) of the rows at places, int64 (m,): first the rows that are not "
            "held, then the h that are, and which of the held rows these are. Place i has rows[inverse[i]], or rows[i] where "
            "`inverse` is empty. Only the first place's row is taken once, however often it stands there.");
    m.def("segment_sum", &segment_sum, "parts"_a.noconvert(), "order"_a.noconvert(), "starts"_a.noconvert(), "out"_a.noconvert(),
          "threads"_a = 0,
          "out[s] = sum of the gradients at positions order[starts[s]:starts[s+1]] of the parts, float32 (m_k, d), "
          "laid end to end; added in that order, for any number of threads.",
          Released());
    m.attr("ROW_OPTIMIZERS") = row_optimizers();
    m.def(
        "row_step",
        [](const std::string& optimizer, Matrix<float> table, Vector<const std::int64_t> rows, Matrix<const float> grads,
           float lr, std::uint64_t, int threads,
           const nb::kwargs& options) { step_rows<float>(optimizer, table, rows, grads, lr, threads, 0, options); },
        "optimizer"_a, "table"_a.noconvert(), "rows"_a.noconvert(), "grads"_a.noconvert(), "lr"_a, "seed"_a = 0, nb::kw_only(),
        "threads"_a = 0, "options"_a,
        "One step of one of ROW_OPTIMIZERS, in place; rows ascend and are unique. A record has the values, then the state: "
        "per_value columns for each value, then per_row. Nothing is rounded by chance: the seed does not matter.");
    m.def(
        "row_step",
        [](const std::string& optimizer, Matrix<std::uint16_t> table, Vector<const std::int64_t> rows, Matrix<const float> grads,
           float lr, std::uint64_t seed, int threads, const nb::kwargs& options) {
            step_rows<std::uint16_t>(optimizer, table, rows, grads, lr, threads, static_cast<std::uint32_t>(seed), options);
        },
        "optimizer"_a, "table"_a.noconvert(), "rows"_a.noconvert(), "grads"_a.noconvert(), "lr"_a, "seed"_a = 0, nb::kw_only(),
        "threads"_a = 0, "options"_a,
        "The same on the bits of bfloat16, rounded by chance, which follows from the record, its gradient and the lower 32 bits "
        "of the seed. Each column of per_row is two, whose sum it is.");
    m.def(
        "round_by_chance",
        [](Vector<const float> values, Vector<std::uint16_t> out, std::uint32_t key) {
            require(values.shape(0) == out.shape(0), "round_by_chance: out is not as long as values");
            for (std::size_t i = 0; i < values.shape(0); ++i)
                out.data()[i] =
                    marius::rounded_by_chance(values.data()[i], marius::key_of_column(key, static_cast<std::int64_t>(i)));
        },
        "values"_a.noconvert(), "out"_a.noconvert(), "key"_a,
        "out[i] = the bits of one of the two bfloat16 around values[i]; the mean over keys is values[i]. What row_step does.",
        Released());
}
