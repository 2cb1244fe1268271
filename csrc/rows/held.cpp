#include "rows/held.h"

#include <algorithm>
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

bool HeldRows::holds(std::int64_t row) const {
    const std::uint64_t word = static_cast<std::uint64_t>(row) / 64, bit = static_cast<std::uint64_t>(row) % 64;
    return word < bits_.size() && (bits_[word] >> bit & 1) != 0;
}

std::int64_t HeldRows::place(std::int64_t row) const {
    const std::uint64_t word = static_cast<std::uint64_t>(row) / 64, bit = static_cast<std::uint64_t>(row) % 64;
    return before_[word] + std::popcount(bits_[word] & ((std::uint64_t{1} << bit) - 1));
}

DividedRows HeldRows::divide(const std::int64_t* places, std::int64_t count) const {
    if (count > std::numeric_limits<std::int32_t>::max())
        throw std::invalid_argument("held rows: " + std::to_string(count) + " places, at most 2147483647 allowed");
    if (const std::int64_t* negative = std::find_if(places, places + count, [](std::int64_t row) { return row < 0; });
        negative != places + count)
        throw std::invalid_argument("held rows: row " + std::to_string(*negative) + " at place " +
                                    std::to_string(negative - places) + " is negative");
    DividedRows divided;
    divided.rows.resize(count);
    divided.inverse.resize(count);
    std::vector<std::int64_t> held_rows(count);
    std::int64_t others = 0, held = 0;
    // Without a branch for a row that is held, which nothing could foresee: what is written for the other case is written over.
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = places[i];
        if (i > 0 && row == places[0]) {
            divided.inverse[i] = divided.inverse[0];
            continue;
        }
        const std::int64_t is_held = holds(row);
        divided.rows[others] = row;
        held_rows[held] = row;
        divided.inverse[i] = static_cast<std::int32_t>(is_held ? -1 - held : others);
        held += is_held;
        others += 1 - is_held;
    }
    // Those that are held stand behind the others, of which it is known only now how many there are.
    divided.rows.resize(others);
    divided.rows.insert(divided.rows.end(), held_rows.begin(), held_rows.begin() + held);
    divided.held.resize(held);
    for (std::int64_t k = 0; k < held; ++k) divided.held[k] = place(held_rows[k]);
    for (std::int32_t& each : divided.inverse) each = static_cast<std::int32_t>(each < 0 ? others - 1 - each : each);
    if (others == count) divided.inverse.clear();
    return divided;
}

}  // namespace marius
