// The I/O threads: everything submitted is run, and waiting reads go before waiting writes.
#include "io/pool.h"

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>

#include "check.h"

using marius::IoPool;

void reads_go_first() {
    std::string order;
    std::promise<void> go;
    {
        IoPool pool(1);
        pool.submit(IoPool::Kind::write, [&] { go.get_future().wait(); });
        for (const char name : {'a', 'b'}) pool.submit(IoPool::Kind::write, [&order, name] { order += name; });
        for (const char name : {'1', '2'}) pool.submit(IoPool::Kind::read, [&order, name] { order += name; });
        go.set_value();
    }
    CHECK(order == "12ab");
}

void all_tasks_run_before_the_end() {
    std::atomic<int> count = 0;
    {
        IoPool pool(3);
        for (int i = 0; i < 100; ++i)
            pool.submit(i % 2 ? IoPool::Kind::read : IoPool::Kind::write, [&] {
                ++count;
                pool.submit(IoPool::Kind::read, [&] { ++count; });
            });
    }
    CHECK(count == 200);
}

int main() {
    reads_go_first();
    all_tasks_run_before_the_end();
    CHECK_THROWS(IoPool(0), std::invalid_argument);
}
