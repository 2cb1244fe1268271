#include "io/dry_buffer.h"

namespace marius {

void DryBuffer::end(const Transfers& started) {
    for (const std::int64_t k : started.loads) {
        moved_.loads.push_back(k);
        end(resident_.loaded(k, true));
    }
    for (const std::int64_t k : started.writes) {
        moved_.writes.push_back(k);
        end(resident_.written(k, true));
    }
}

}  // namespace marius
