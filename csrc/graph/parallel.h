// Runs independent tasks on a few threads. The first exception is rethrown in the caller's thread.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace marius {

template <class Task>
void parallel_tasks(size_t count, int threads, Task task) {
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    auto work = [&] {
        try {
            for (size_t i; (i = next.fetch_add(1)) < count;) task(i);
        } catch (...) {
            std::lock_guard lock(guard);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> helpers;
    for (int t = 1; t < std::min<int>(threads, static_cast<int>(std::min<size_t>(count, 1024))); ++t) helpers.emplace_back(work);
    work();
    for (auto& helper : helpers) helper.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace marius
