// Cuts a loop into numbered tasks, whose bodies may throw.
#pragma once
#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

#include "base/parallel.h"

namespace marius {

// Cuts [0, count) into tasks of `grain` elements and calls body(task, begin, end) for each. Rethrows the last exception.
template <class Body>
void in_tasks(std::int64_t count, std::int64_t grain, int threads, Body body) {
    std::exception_ptr failure;
    std::mutex guard;
    parallel_for((count + grain - 1) / grain, 1, threads, [&](std::int64_t first, std::int64_t last) {
        try {
            for (std::int64_t task = first; task < last; ++task) body(task, task * grain, std::min((task + 1) * grain, count));
        } catch (...) {
            std::lock_guard lock(guard);
            failure = std::current_exception();
        }
    });
    if (failure) std::rethrow_exception(failure);
}

}  // namespace marius
