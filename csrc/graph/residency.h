// Which node ids are resident, as few runs of neighbouring partitions; and which stretches of an ascending list are.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace marius {

struct Stretch {
    int64_t begin, end;  // positions in a list
};

// The first position from `at` on whose value is >= `least`, by doubling steps: its cost is the logarithm of the distance.
template <class Id>
int64_t skip_below(const Id* list, int64_t at, int64_t end, uint64_t least) {
    int64_t step = 1, low = at;
    while (at < end && list[at] < least) {
        low = at + 1;
        at += step;
        step *= 2;
    }
    return std::lower_bound(list + low, list + std::min(at, end), least) - list;
}

class Residency {
public:
    Residency(uint64_t rows_per_partition, uint64_t nodes)
        : rows_(rows_per_partition), nodes_(nodes), resident_((nodes + rows_ - 1) / rows_, false) { find_runs(); }

    uint64_t rows() const { return rows_; }
    uint64_t nodes() const { return nodes_; }
    uint64_t partitions() const { return resident_.size(); }
    uint64_t size(uint64_t k) const { return std::min(rows_, nodes_ - k * rows_); }
    bool has(uint64_t k) const { return resident_[k]; }
    bool any() const { return !runs_.empty(); }
    bool complete() const { return runs_.size() == 1 && runs_[0].begin == 0 && runs_[0].end == nodes_; }

    void set(uint64_t k, bool resident) {
        resident_[k] = resident;
        find_runs();
    }

    // Appends the stretches of list[begin, end), ascending node ids below nodes(), that are resident. For a list of d ids over
    // r runs: O(min(r, d) log d).
    template <class Id>
    void stretches(const Id* list, int64_t begin, int64_t end, std::vector<Stretch>& out) const {
        while (begin < end) {
            const uint32_t run = next_run_[list[begin] / rows_];
            if (run == runs_.size()) return;
            if (list[begin] < runs_[run].begin) {
                begin = skip_below(list, begin, end, runs_[run].begin);
            } else {
                const int64_t stop = skip_below(list, begin, end, runs_[run].end);
                out.push_back({begin, stop});
                begin = stop;
            }
        }
    }

private:
    struct Run {
        uint64_t begin, end;  // node ids
    };

    void find_runs() {
        runs_.clear();
        next_run_.assign(resident_.size(), 0);
        for (uint64_t k = 0; k < resident_.size(); ++k) {
            const bool joins = k > 0 && resident_[k - 1];
            if (resident_[k] && !joins) runs_.push_back({k * rows_, 0});
            if (resident_[k]) runs_.back().end = k * rows_ + size(k);
            next_run_[k] = static_cast<uint32_t>(runs_.size() - (resident_[k] ? 1 : 0));
        }
    }

    uint64_t rows_, nodes_;
    std::vector<bool> resident_;
    std::vector<Run> runs_;
    std::vector<uint32_t> next_run_;  // by partition: the first run that ends in it or after
};

}  // namespace marius
