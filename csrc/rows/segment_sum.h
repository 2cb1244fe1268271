// Sums the gradients of equal rows.
#pragma once
#include <cstdint>
#include <vector>

namespace marius {

struct GradPart {
    const float* data;  // (count, dim)
    std::int64_t count;
};

// out[s, :] = sum over positions order[starts[s]] .. order[starts[s + 1] - 1] of the gradients at these positions of the
// parts laid end to end, added in that order whatever the number of threads; out is (segments, dim).
// Throws std::invalid_argument for a position outside the parts.
void segment_sum(const std::vector<GradPart>& parts, const std::int32_t* order, std::int64_t positions,
                 const std::int32_t* starts, std::int64_t segments, float* out, std::int64_t dim, int threads);

}  // namespace marius
