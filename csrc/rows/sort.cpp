#include "rows/sort.h"

#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace marius {
namespace {

constexpr int digit_bits = 11;
constexpr std::size_t digits = std::size_t{1} << digit_bits;

struct Item {
    std::uint64_t row;
    std::int32_t position;
};

// The bits that are set in some row. Digits above the highest of them need no sorting.
std::uint64_t bits_of(const std::int64_t* rows, std::int64_t count) {
    std::uint64_t bits = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        if (rows[i] < 0)
            throw std::invalid_argument("sort_rows: row " + std::to_string(rows[i]) + " at position " + std::to_string(i) +
                                        " is negative");
        bits |= static_cast<std::uint64_t>(rows[i]);
    }
    return bits;
}

void sort_by_digit(const Item* from, Item* to, std::int64_t count, int shift) {
    std::array<std::int64_t, digits> place{};
    for (std::int64_t i = 0; i < count; ++i) ++place[from[i].row >> shift & (digits - 1)];
    std::int64_t start = 0;
    for (std::int64_t& entry : place) start += std::exchange(entry, start);
    for (std::int64_t i = 0; i < count; ++i) to[place[from[i].row >> shift & (digits - 1)]++] = from[i];
}

}  // namespace

SortedRows sort_rows(const std::int64_t* rows, std::int64_t count) {
    if (count > std::numeric_limits<std::int32_t>::max())
        throw std::invalid_argument("sort_rows: " + std::to_string(count) + " rows, at most 2147483647 allowed");
    const int bits = std::bit_width(bits_of(rows, count));
    std::unique_ptr<Item[]> items(new Item[count]), other(new Item[count]);
    for (std::int64_t i = 0; i < count; ++i) items[i] = {static_cast<std::uint64_t>(rows[i]), static_cast<std::int32_t>(i)};
    for (int shift = 0; shift < bits; shift += digit_bits) {
        sort_by_digit(items.get(), other.get(), count, shift);
        items.swap(other);
    }
    SortedRows sorted;
    sorted.order.resize(count);
    for (std::int64_t i = 0; i < count; ++i) {
        sorted.order[i] = items[i].position;
        if (i == 0 || items[i].row != items[i - 1].row) {
            sorted.unique.push_back(static_cast<std::int64_t>(items[i].row));
            sorted.starts.push_back(static_cast<std::int32_t>(i));
        }
    }
    sorted.starts.push_back(static_cast<std::int32_t>(count));
    return sorted;
}

CommonRows common_rows(const std::int64_t* left_rows, std::int64_t left_count, const std::int64_t* right_rows,
                       std::int64_t right_count) {
    CommonRows common;
    for (std::int64_t i = 0, j = 0; i < left_count && j < right_count;) {
        if (left_rows[i] == right_rows[j]) {
            common.left.push_back(static_cast<std::int32_t>(i));
            common.right.push_back(static_cast<std::int32_t>(j));
        }
        const bool left_first = left_rows[i] <= right_rows[j], right_first = right_rows[j] <= left_rows[i];
        i += left_first;
        j += right_first;
    }
    return common;
}

}  // namespace marius
