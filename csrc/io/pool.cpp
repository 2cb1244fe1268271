#include "io/pool.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace marius {

IoPool::IoPool(int threads) {
    if (threads < 1) throw std::invalid_argument("threads: found " + std::to_string(threads) + ", needs at least 1");
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

IoPool::~IoPool() {
    {
        std::lock_guard lock(mutex_);
        ending_ = true;
    }
    arrived_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void IoPool::submit(Kind kind, std::function<void()> task) {
    {
        std::lock_guard lock(mutex_);
        (kind == Kind::read ? reads_ : writes_).push_back(std::move(task));
    }
    arrived_.notify_one();
}

void IoPool::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        arrived_.wait(lock, [this] { return ending_ || !reads_.empty() || !writes_.empty(); });
        auto& queue = reads_.empty() ? writes_ : reads_;
        if (queue.empty()) return;
        auto task = std::move(queue.front());
        queue.pop_front();
        lock.unlock();
        task();
        task = nullptr;  // what it owns is released while the lock is not held
        lock.lock();
    }
}

}  // namespace marius
