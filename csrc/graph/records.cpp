#include "graph/records.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "graph/parallel.h"

namespace marius {

namespace {

constexpr int kDigit = 8, kDigits = 1 << kDigit;
constexpr size_t kInCache = 1 << 14, kFew = 64;

using Starts = std::array<size_t, kDigits + 1>;

// The bits of word `word` in which records still differ: the digit of a record is (word - base) >> shift.
struct Place {
    int word, shift;
    uint64_t base;
    template <int words>
    size_t digit(const Record<words>& record) const {
        return (record.word[word] - base) >> shift;
    }
};

template <int words>
Place place_of(const Record<words>* records, size_t count, int word) {
    uint64_t least = ~0ULL, most = 0;
    for (size_t i = 0; i < count; ++i) {
        least = std::min(least, records[i].word[word]);
        most = std::max(most, records[i].word[word]);
    }
    return {word, std::max(0, static_cast<int>(std::bit_width(most - least)) - kDigit), least};
}

// Moves records into the order of their digits. starts[d] is where digit d begins.
template <int words>
Starts deal(Record<words>* records, size_t count, const Place& place) {
    Starts starts{};
    for (size_t i = 0; i < count; ++i) ++starts[place.digit(records[i]) + 1];
    for (int d = 0; d < kDigits; ++d) starts[d + 1] += starts[d];
    std::array<size_t, kDigits> next;
    std::copy_n(starts.begin(), kDigits, next.begin());
    for (size_t d = 0; d < kDigits; ++d) {
        while (next[d] < starts[d + 1]) {
            Record<words> moving = records[next[d]];
            for (size_t to; (to = place.digit(moving)) != d;) std::swap(moving, records[next[to]++]);
            records[next[d]++] = moving;
        }
    }
    return starts;
}

// Sorts by the least significant digit first, between the records and a copy of the same length.
void sort_in_cache(Record<1>* records, size_t count, uint64_t base, int bits, std::vector<Record<1>>& scratch) {
    scratch.resize(kInCache);
    Record<1>*from = records, *to = scratch.data();
    for (int shift = 0; shift < bits; shift += kDigit, std::swap(from, to)) {
        std::array<uint32_t, kDigits> next{};
        for (size_t i = 0; i < count; ++i) ++next[((from[i].word[0] - base) >> shift) & (kDigits - 1)];
        uint32_t start = 0;
        for (auto& n : next) n = std::exchange(start, start + n);
        for (size_t i = 0; i < count; ++i) to[next[((from[i].word[0] - base) >> shift) & (kDigits - 1)]++] = from[i];
    }
    if (from != records) std::copy_n(from, count, records);
}

template <int words>
void sort_piece(Record<words>* records, size_t count, int word, std::vector<Record<words>>& scratch) {
    if (count <= kFew || (words > 1 && count <= 8 * kFew)) return std::sort(records, records + count);
    const Place place = place_of(records, count, word);
    if constexpr (words == 1) {
        if (count <= kInCache) return sort_in_cache(records, count, place.base, place.shift + kDigit, scratch);
    }
    const Starts starts = deal(records, count, place);
    for (int d = 0; d < kDigits; ++d) {
        const size_t size = starts[d + 1] - starts[d];
        if (place.shift) sort_piece(records + starts[d], size, word, scratch);
        else if (word + 1 < words) sort_piece(records + starts[d], size, word + 1, scratch);
    }
}

}  // namespace

template <int words>
void sort_records(Record<words>* records, size_t count, int threads) {
    std::vector<Record<words>> scratch;
    if (count <= kInCache || threads == 1) return sort_piece(records, count, 0, scratch);
    const Place place = place_of(records, count, 0);
    const Starts starts = deal(records, count, place);
    parallel_tasks(kDigits, threads, [&](size_t d) {
        std::vector<Record<words>> own;
        if (place.shift || words > 1) sort_piece(records + starts[d], starts[d + 1] - starts[d], place.shift ? 0 : 1, own);
    });
}

template <int words>
size_t count_not_above(const Record<words>* records, size_t count, const Record<words>& bound) {
    return static_cast<size_t>(std::upper_bound(records, records + count, bound) - records);
}

template void sort_records(Record<1>*, size_t, int);
template void sort_records(Record<2>*, size_t, int);
template void sort_records(Record<3>*, size_t, int);
template void sort_records(Record<4>*, size_t, int);
template size_t count_not_above(const Record<1>*, size_t, const Record<1>&);
template size_t count_not_above(const Record<2>*, size_t, const Record<2>&);
template size_t count_not_above(const Record<3>*, size_t, const Record<3>&);
template size_t count_not_above(const Record<4>*, size_t, const Record<4>&);

}  // namespace marius
