#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace marius {
namespace {

constexpr int max_workers = 255;

struct Job {
    const std::function<void(std::int64_t, std::int64_t)>& body;
    std::int64_t count, grain;
    int helpers;     // workers that may still join; guarded by the pool's mutex, as is `active`
    int active = 0;  // workers at work on it
    std::atomic<std::int64_t> next{0};

    void drain() {
        for (std::int64_t begin; (begin = next.fetch_add(grain, std::memory_order_relaxed)) < count;)
            body(begin, std::min(begin + grain, count));
    }
};

class Pool {
public:
    // The caller works too, and waits only for workers that have joined: a pool without live workers
    // (after a fork) is slow, never stuck.
    void run(Job& job) {
        {
            std::lock_guard lock(mutex_);
            for (int wanted = std::min(job.helpers, max_workers); workers_ < wanted; ++workers_)
                std::thread([this] { work(); }).detach();
            jobs_.push_back(&job);
        }
        work_.notify_all();
        job.drain();
        std::unique_lock lock(mutex_);
        std::erase(jobs_, &job);
        left_.wait(lock, [&] { return job.active == 0; });
    }

private:
    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            work_.wait(lock, [&] { return !jobs_.empty(); });
            Job& job = *jobs_.front();
            ++job.active;
            if (--job.helpers == 0) jobs_.pop_front();
            lock.unlock();
            job.drain();
            lock.lock();
            if (--job.active == 0) left_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable work_, left_;
    std::deque<Job*> jobs_;
    int workers_ = 0;
};

Pool& pool() {
    static Pool& instance = *new Pool;  // never destroyed: its workers run until the process ends
    return instance;
}

}  // namespace

int default_threads() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return std::max(1, CPU_COUNT(&cpus));
    return std::max(1u, std::thread::hardware_concurrency());
}

void parallel_for(std::int64_t count, std::int64_t grain, int threads,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
    if (count <= 0) return;
    const std::int64_t ranges = (count + grain - 1) / grain;
    const std::int64_t used = std::min<std::int64_t>(threads > 0 ? threads : default_threads(), ranges);
    if (used <= 1) return body(0, count);
    Job job{body, count, grain, static_cast<int>(used - 1)};
    pool().run(job);
}

}  // namespace marius
