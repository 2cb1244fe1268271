// Records of a few 64-bit words, ordered by their words in turn: what the external sort moves.
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

// In place. Equal records are the same, so the result does not depend on the number of threads.
// (A radix sort by the leading bits that differ, in place (McIlroy, Bostic, McIlroy 1993), until pieces fit the cache.)
template <int words>
void sort_records(Record<words>* records, size_t count, int threads);

// How many leading records of a sorted array are <= bound.
template <int words>
size_t count_not_above(const Record<words>* records, size_t count, const Record<words>& bound);

}  // namespace marius
