#include "graph/id_runs.h"

#include <stdexcept>
#include <utility>

namespace marius {

StringRun::Key StringRun::next() {
    uint64_t end;
    std::memcpy(&end, ends_.take(sizeof end), sizeof end);
    if (end < end_) throw std::runtime_error("a run of ids is damaged");
    const size_t length = static_cast<size_t>(end - end_);
    end_ = end;
    return {reinterpret_cast<const char*>(values_.take(length)), length};
}

template <class Keys>
RunMerge<Keys>::RunMerge(const std::vector<RunFiles>& runs, const std::vector<std::string>& numbers, const std::string& values,
                         const std::string& ends, uint64_t key, uint64_t mask, bool wide, size_t buffer)
    : out_(values, ends, buffer), key_(key), mask_(mask), wide_(wide) {
    heads_.reserve(runs.size());
    for (size_t r = 0; r < runs.size(); ++r) {
        heads_.push_back({{runs[r], buffer}, {numbers.at(r), buffer}, runs[r].count, 0, {}});
        if (!runs[r].count) continue;
        step(heads_.back());
        heap_.push_back(static_cast<uint32_t>(r));
    }
    for (size_t place = heap_.size() / 2; place-- > 0;) sink(place);
}

template <class Keys>
bool RunMerge<Keys>::before(uint32_t a, uint32_t b) const {
    const Head &x = heads_[a], &y = heads_[b];
    return x.hash != y.hash ? x.hash < y.hash : x.key < y.key;
}

template <class Keys>
void RunMerge<Keys>::step(Head& head) {
    head.key = head.reader.next();
    head.hash = Keys::hash(head.key, key_) & mask_;
    --head.left;
}

template <class Keys>
void RunMerge<Keys>::sink(size_t place) {
    const uint32_t run = heap_[place];
    for (size_t child; (child = 2 * place + 1) < heap_.size(); place = child) {
        if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
        if (!before(heap_[child], run)) break;
        heap_[place] = heap_[child];
    }
    heap_[place] = run;
}

template <class Keys>
void RunMerge<Keys>::number(Head& head) {
    const uint64_t id = merged_ - 1;
    const uint32_t narrow = static_cast<uint32_t>(id);
    wide_ ? head.numbers.append(&id, sizeof id) : head.numbers.append(&narrow, sizeof narrow);
}

template <class Keys>
size_t RunMerge<Keys>::advance(size_t count) {
    const uint64_t first = merged_;
    while (!heap_.empty()) {
        Head& head = heads_[heap_.front()];
        const bool same = merged_ && head.hash == last_hash_ && head.key == last_;
        if (!same) {
            if (merged_ && (head.hash < last_hash_ || (head.hash == last_hash_ && head.key < last_)))
                throw std::runtime_error("a run of ids is out of order");
            if (merged_ - first == count) return count;
            out_.append(head.key);
            last_ = head.key, last_hash_ = head.hash;
            ++merged_;
        }
        number(head);
        if (head.left) step(head);
        else heap_.front() = heap_.back(), heap_.pop_back();
        if (!heap_.empty()) sink(0);
    }
    if (std::exchange(open_, false)) {
        out_.close();
        for (Head& head : heads_) head.numbers.close();
    }
    return static_cast<size_t>(merged_ - first);
}

template class RunMerge<IntKeys>;
template class RunMerge<StringKeys>;

}  // namespace marius
