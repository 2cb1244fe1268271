// Threads that do blocking I/O for callers that must not block.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace marius {

/// Runs tasks on `threads` threads, in the order in which they came, but waiting reads before waiting writes, so that writes
/// do not delay prefetches.
///
/// Threading: `submit` may be called from any thread, a task included. Tasks must not throw. The destructor runs
/// everything still queued (and what that submits), then joins; it must not be called from a task.
class IoPool {
public:
    enum class Kind { read, write };

    explicit IoPool(int threads);
    ~IoPool();
    IoPool(const IoPool&) = delete;
    IoPool& operator=(const IoPool&) = delete;

    void submit(Kind kind, std::function<void()> task);

private:
    void work();

    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<std::function<void()>> reads_, writes_;  // guarded by mutex_
    bool ending_ = false;                               // guarded by mutex_
    std::vector<std::thread> threads_;
};

}  // namespace marius
