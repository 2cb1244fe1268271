#include "cuda/host_rows.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"

namespace marius {
namespace {

constexpr std::int64_t ahead = 12;       // records that are prefetched before they are copied
constexpr std::int64_t line = 64;        // bytes of a cache line
constexpr std::int64_t lines_ahead = 8;  // of each record; the hardware prefetcher follows with the rest

template <bool into_table>
void copy_records(const marius_cuda_host_rows& r) {
    const auto record = [&](std::int64_t i) { return static_cast<char*>(r.table) + r.rows[i] * r.table_stride; };
    const auto request = [&](std::int64_t i) {
        for (std::int64_t at = 0; at < std::min(r.bytes, lines_ahead * line); at += line)
            __builtin_prefetch(record(i) + at, into_table);
    };
    parallel_for(r.count, 512, r.threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < std::min(begin + ahead, end); ++i) request(i);
        for (std::int64_t i = begin; i < end; ++i) {
            if (i + ahead < end) request(i + ahead);
            char* block = static_cast<char*>(r.block) + i * r.block_stride;
            if (into_table) std::memcpy(record(i), block, r.bytes);
            else std::memcpy(block, record(i), r.bytes);
        }
    });
}

}  // namespace

void gather_records(const marius_cuda_host_rows& rows) { copy_records<false>(rows); }
void scatter_records(const marius_cuda_host_rows& rows) { copy_records<true>(rows); }

}  // namespace marius
