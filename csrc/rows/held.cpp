#include "rows/held.h"

#include <bit>
#include <limits>
#include <stdexcept>
#include <string>

namespace marius {

HeldRows::HeldRows(const std::int64_t* rows, std::int64_t count) {
    if (count == 0) return;
    if (rows[0] < 0 || count > std::numeric_limits<std::int32_t>::max())
        throw std::invalid_argument("held rows: at most 2147483647 of 0 or more allowed");
    const std::int64_t words = rows[count - 1] / 64 + 1;
    for (std::int64_t i = 1; i < count; ++i)
        if (rows[i] <= rows[i - 1])
            throw std::invalid_argument("held rows: row " + std::to_string(rows[i]) + " comes after " +
                                        std::to_string(rows[i - 1]));
    bits_.resize(words);
    before_.resize(words);
    for (std::int64_t i = 0; i < count; ++i) bits_[rows[i] / 64] |= std::uint64_t{1} << rows[i] % 64;
    for (std::int64_t word = 1; word < words; ++word) before_[word] = before_[word - 1] + std::popcount(bits_[word - 1]);
}

std::int64_t HeldRows::place(std::int64_t row) const {
    const std::uint64_t word = static_cast<std::uint64_t>(row) / 64, bit = static_cast<std::uint64_t>(row) % 64;
    if (word >= bits_.size() || (bits_[word] >> bit & 1) == 0) return -1;
    return before_[word] + std::popcount(bits_[word] & ((std::uint64_t{1} << bit) - 1));
}

DividedRows HeldRows::divide(const std::int64_t* places, std::int64_t count) const {
    if (count > std::numeric_limits<std::int32_t>::max())
        throw std::invalid_argument("held rows: " + std::to_string(count) + " places, at most 2147483647 allowed");
    DividedRows divided;
    divided.rows.resize(count);
    divided.inverse.resize(count);
    std::int64_t others = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = places[i];
        if (row < 0)
            throw std::invalid_argument("held rows: row " + std::to_string(row) + " at place " + std::to_string(i) +
                                        " is negative");
        if (i > 0 && row == places[0]) {
            divided.inverse[i] = divided.inverse[0];
        } else if (const std::int64_t held = place(row); held < 0) {
            divided.rows[others] = row;
            divided.inverse[i] = static_cast<std::int32_t>(others++);
        } else {
            divided.inverse[i] = static_cast<std::int32_t>(-1 - static_cast<std::int64_t>(divided.held.size()));
            divided.held.push_back(held);
        }
    }
    // Those that are held stand behind the others, of which it is known only now how many there are.
    const std::int64_t different = others + static_cast<std::int64_t>(divided.held.size());
    divided.rows.resize(different);
    for (std::int64_t i = 0; i < count; ++i) {
        if (divided.inverse[i] >= 0) continue;
        divided.inverse[i] = static_cast<std::int32_t>(others - 1 - divided.inverse[i]);
        divided.rows[divided.inverse[i]] = places[i];
    }
    if (others == count) divided.inverse.clear();
    return divided;
}

}  // namespace marius
