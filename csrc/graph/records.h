// Sorts records of a few 64-bit words, first by their first word, then by the next. The external sort moves such records.
#pragma once
#include <cstddef>
#include <cstdint>

namespace marius {

template <int words>
struct Record {
    uint64_t word[words];

    bool operator==(const Record&) const = default;
    bool operator<(const Record& other) const {
        for (int w = 0; w + 1 < words; ++w)
            if (word[w] != other.word[w]) return word[w] < other.word[w];
        return word[words - 1] < other.word[words - 1];
    }
};

// Sorts in place. Records that compare equal are identical, so the result does not depend on the number of threads.
// (A radix sort by the leading bits that differ, in place (McIlroy, Bostic, McIlroy 1993), until groups fit the cache.)
template <int words>
void sort_records(Record<words>* records, size_t count, int threads);

// How many leading records of a sorted array are <= bound.
template <int words>
size_t count_not_above(const Record<words>* records, size_t count, const Record<words>& bound);

}  // namespace marius
