// Random numbers for native tests, the same each time a test runs.
#pragma once
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

inline std::mt19937_64 random_bits(7);

/// `n` numbers of the normal distribution; where `often` is given, about one in eight is that.
inline std::vector<float> random_floats(std::int64_t n, std::optional<float> often = {}) {
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& v : values) v = often && random_bits() % 8 == 0 ? *often : normal(random_bits);
    return values;
}
