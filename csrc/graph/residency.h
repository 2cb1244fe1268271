// Finds which stretches of an ascending list of node ids are resident. Neighbouring resident partitions count as one run.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace marius {

// x / d for one d, a multiplication for 32-bit x. (Source: Lemire, Kaser and Kurz, Faster remainder by direct computation, 2019.)
class Divider {
public:
    explicit Divider(uint64_t d) : d_(d), inverse_(d > 1 ? ~0ULL / d + 1 : 0) {}
    uint64_t operator()(uint64_t x) const { return x / d_; }
    uint64_t operator()(uint32_t x) const {
        return d_ > 1 ? static_cast<uint64_t>(static_cast<unsigned __int128>(inverse_) * x >> 64) : x;
    }

private:
    uint64_t d_, inverse_;
};

// Positions in a list, two for each stretch: where it begins and where it ends.
using Stretches = std::vector<int64_t>;

// The first position of an ascending list's [begin, end) whose value is >= `least`; no branch depends on the values.
template <class Id>
int64_t first_not_below(const Id* list, int64_t begin, int64_t end, uint64_t least) {
    const Id* base = list + begin;
    for (int64_t left = end - begin; left > 0;) {
        const int64_t half = (left + 1) / 2;
        base = base[half - 1] < least ? base + half : base;
        left -= half;
    }
    return base - list;
}

class Residency {
public:
    Residency(uint64_t rows_per_partition, uint64_t nodes)
        : rows_(rows_per_partition), nodes_(nodes), partition_of_(rows_), resident_((nodes + rows_ - 1) / rows_, false) {}

    uint64_t rows() const { return rows_; }
    uint64_t nodes() const { return nodes_; }
    uint64_t partitions() const { return resident_.size(); }
    uint64_t size(uint64_t k) const { return std::min(rows_, nodes_ - k * rows_); }
    template <class Id>
    uint64_t partition_of(Id node) const {
        return partition_of_(node);
    }
    bool has(uint64_t k) const { return resident_[k]; }
    bool any() const { return !runs_.empty(); }
    bool complete() const { return runs_.size() == 1 && runs_[0].begin == 0 && runs_[0].end == nodes_; }

    void set(uint64_t k, bool resident) {
        resident_[k] = resident;
        runs_.clear();
        for (uint64_t j = 0; j < resident_.size(); ++j) {
            if (!resident_[j]) continue;
            if (j == 0 || !resident_[j - 1]) runs_.push_back({j * rows_, 0, 0, 0});
            runs_.back().end = j * rows_ + size(j);
        }
        for (Run& run : runs_) {
            run.begin_share = static_cast<double>(run.begin) / static_cast<double>(nodes_);
            run.end_share = static_cast<double>(run.end) / static_cast<double>(nodes_);
        }
    }

    // Prefetches what `stretches` reads first of the same list. (Always inlined: GCC drops the call of a function that does
    // nothing but prefetch.)
    template <class Id>
    [[gnu::always_inline]] inline void prefetch(const Id* list, int64_t begin, int64_t end) const {
        if (scans(end - begin)) {
            for (int64_t at = begin; at < end; at += 64 / sizeof(Id)) __builtin_prefetch(list + at);
        } else {
            for (const Run& run : runs_) {
                __builtin_prefetch(list + guess(begin, end, run.begin_share));
                __builtin_prefetch(list + guess(begin, end, run.end_share));
            }
        }
    }

    // Sets `out` to the stretches of list[begin, end), ascending node ids below nodes(), that are resident. For a list of d ids
    // over r runs: O(d) for short ones, O(r log d) for the others.
    template <class Id>
    void stretches(const Id* list, int64_t begin, int64_t end, Stretches& out) const {
        if (scans(end - begin)) return scan(list, begin, end, out);
        out.clear();
        for (int64_t at = begin; const Run& run : runs_) {
            const int64_t first = search(list, at, begin, end, run.begin, run.begin_share);
            at = search(list, first, begin, end, run.end, run.end_share);
            if (first < at) out.insert(out.end(), {first, at});
        }
    }

private:
    struct Run {
        uint64_t begin, end;            // node ids
        double begin_share, end_share;  // of all nodes
    };

    bool scans(int64_t length) const { return length <= kScannedPerRun * static_cast<int64_t>(runs_.size()); }

    // Looks at every id, without a branch: whether the next one is resident cannot be predicted.
    template <class Id>
    void scan(const Id* list, int64_t begin, int64_t end, Stretches& out) const {
        out.resize(end - begin + 2);
        size_t count = 0;
        uint8_t before = 0;
        for (int64_t at = begin; at < end; ++at) {
            const uint8_t resident = resident_[partition_of_(list[at])];
            out[count] = at;
            count += resident ^ before;
            before = resident;
        }
        out[count] = end;
        out.resize(count + before);
    }

    // Guesses where the ids of the first `share` of all nodes end: right where ids spread evenly, as in a random numbering.
    static int64_t guess(int64_t begin, int64_t end, double share) {
        return begin + static_cast<int64_t>(static_cast<double>(end - begin) * share);
    }

    // As first_not_below, but looks at a few standard deviations around the guess first. Never before `from`.
    template <class Id>
    static int64_t search(const Id* list, int64_t from, int64_t begin, int64_t end, uint64_t value, double share) {
        const int64_t width = int64_t{1} << (std::bit_width(static_cast<uint64_t>(end - begin)) + 1) / 2;
        const int64_t middle = guess(begin, end, share);
        int64_t low = std::max(from, middle - width), high = std::min(end, middle + width);
        if (low > from && list[low - 1] >= value) {
            high = low;
            low = from;
        } else if (high < low || (high < end && list[high] < value)) {
            low = std::max(low, high);
            high = end;
        }
        return first_not_below(list, low, high, value);
    }

    static constexpr int64_t kScannedPerRun = 16;

    uint64_t rows_, nodes_;
    Divider partition_of_;
    std::vector<uint8_t> resident_;  // by partition
    std::vector<Run> runs_;
};

}  // namespace marius
