// Runs loops over independent elements on a few threads, which stay alive between calls.
#pragma once
#include <cstdint>
#include <functional>

namespace marius {

// The number of CPUs that this process may run on.
int default_threads();

// Calls body(begin, end) for ranges of at most `grain` elements that cover [0, count), and returns when all are done. At most
// `threads` threads work (0: default_threads()), the caller's among them. Any thread may take any range, so a body must
// write only what belongs to its own elements. It must not throw. Calls from several threads share the workers.
void parallel_for(std::int64_t count, std::int64_t grain, int threads,
                  const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace marius
