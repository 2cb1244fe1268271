// The table of legal moves is the design's: ten moves, every other one refused.
#include "io/partition_state.h"

#include "check.h"

using marius::PartitionState;

int main() {
    constexpr bool legal[5][5] = {
        // to: on_disk loading resident dirty writing
        {false, true, false, true, false},   // on_disk
        {true, false, true, false, false},   // loading
        {true, false, false, true, false},   // resident
        {false, false, false, false, true},  // dirty
        {true, false, true, true, false},    // writing
    };
    int count = 0;
    for (int from = 0; from < 5; ++from)
        for (int to = 0; to < 5; ++to) {
            const auto a = static_cast<PartitionState>(from), b = static_cast<PartitionState>(to);
            if (legal[from][to]) marius::require_legal(a, b), ++count;
            else CHECK_THROWS(marius::require_legal(a, b), std::logic_error);
        }
    CHECK(count == static_cast<int>(marius::kMoves.size()));
    for (std::size_t i = 0; i < marius::kMoves.size(); ++i) CHECK(std::atoi(marius::kMoves[i].when) == static_cast<int>(i) + 1);
}
