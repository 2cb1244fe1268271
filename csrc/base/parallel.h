// Loops over independent elements on a few threads that stay alive between calls.
#pragma once
#include <cstdint>
#include <functional>

namespace marius {

// The number of CPUs that this process may run on.
int default_threads();

// Calls body(begin, end) for pieces of at most `grain` elements that cover [0, count), on at most `threads` threads,
// the caller's among them (0: default_threads()), and returns when all are done. Which thread takes which piece
// is left open: bodies write only what belongs to their own elements, and do not throw. Calls from several
// threads share the workers.
void parallel_for(std::int64_t count, std::int64_t grain, int threads,
                  const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace marius
