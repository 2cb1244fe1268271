#include "rows/sort.h"

#include <algorithm>
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

struct Wide {
    std::uint64_t row_;
    std::int32_t position_;

    Wide() = default;
    Wide(std::int64_t row, std::int64_t position)
        : row_(static_cast<std::uint64_t>(row)), position_(static_cast<std::int32_t>(position)) {}
    std::uint64_t row() const { return row_; }
    std::int32_t position() const { return position_; }
};

// A row below 2^32 and its position in 8 bytes: half of what passes through memory.
struct Narrow {
    std::uint64_t bits;

    Narrow() = default;
    Narrow(std::int64_t row, std::int64_t position)
        : bits(static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint64_t>(position)) {}
    std::uint64_t row() const { return bits >> 32; }
    std::int32_t position() const { return static_cast<std::int32_t>(bits & 0xffffffff); }
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

template <class Item> void sort_by_digit(const Item* from, Item* to, std::int64_t count, int shift) {
    std::array<std::int64_t, digits> place{};
    for (std::int64_t i = 0; i < count; ++i) ++place[from[i].row() >> shift & (digits - 1)];
    std::int64_t start = 0;
    for (std::int64_t& entry : place) start += std::exchange(entry, start);
    for (std::int64_t i = 0; i < count; ++i) to[place[from[i].row() >> shift & (digits - 1)]++] = from[i];
}

template <class Item> SortedRows sorted_by(const std::int64_t* rows, std::int64_t count, int bits) {
    std::unique_ptr<Item[]> items(new Item[count]), other(new Item[count]);
    for (std::int64_t i = 0; i < count; ++i) items[i] = Item(rows[i], i);
    for (int shift = 0; shift < bits; shift += digit_bits) {
        sort_by_digit(items.get(), other.get(), count, shift);
        items.swap(other);
    }
    SortedRows sorted;
    sorted.order.resize(count);
    for (std::int64_t i = 0; i < count; ++i) {
        sorted.order[i] = items[i].position();
        if (i == 0 || items[i].row() != items[i - 1].row()) {
            sorted.unique.push_back(static_cast<std::int64_t>(items[i].row()));
            sorted.starts.push_back(static_cast<std::int32_t>(i));
        }
    }
    sorted.starts.push_back(static_cast<std::int32_t>(count));
    return sorted;
}

}  // namespace

SortedRows sort_rows(const std::int64_t* rows, std::int64_t count) {
    if (count > std::numeric_limits<std::int32_t>::max())
        throw std::invalid_argument("sort_rows: " + std::to_string(count) + " rows, at most 2147483647 allowed");
    const int bits = std::bit_width(bits_of(rows, count));
    return bits <= 32 ? sorted_by<Narrow>(rows, count, bits) : sorted_by<Wide>(rows, count, bits);
}

std::vector<std::int32_t> inverse_of(const std::int32_t* order, std::int64_t count, const std::int32_t* starts,
                                     std::int64_t segments) {
    std::vector<std::int32_t> inverse(count);
    for (std::int64_t s = 0; s < segments; ++s) {
        if (starts[s] < 0 || starts[s] > starts[s + 1] || starts[s + 1] > count)
            throw std::invalid_argument("inverse_of: segment " + std::to_string(s) + " is not within the " +
                                        std::to_string(count) + " positions");
        for (std::int64_t i = starts[s]; i < starts[s + 1]; ++i) {
            if (order[i] < 0 || order[i] >= count)
                throw std::invalid_argument("inverse_of: position " + std::to_string(order[i]) + " of " + std::to_string(count));
            inverse[order[i]] = static_cast<std::int32_t>(s);
        }
    }
    return inverse;
}

GroupedRows group_rows(const std::int64_t* group_of, std::int64_t count, std::int64_t group_count, std::int64_t piece) {
    if (count > std::numeric_limits<std::int32_t>::max() || group_count >= std::numeric_limits<std::int32_t>::max())
        throw std::invalid_argument("group_rows: more than 2147483647 rows or groups");
    GroupedRows grouped;
    std::vector<std::int32_t>& ends = grouped.groups;  // ends[g + 1]: of group g, in rows
    ends.resize(group_count + 1);
    std::int32_t longest = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        if (group_of[i] < 0 || group_of[i] >= group_count)
            throw std::invalid_argument("group_rows: group " + std::to_string(group_of[i]) + " of " +
                                        std::to_string(group_count));
        longest = std::max(longest, ++ends[group_of[i] + 1]);
    }
    for (std::int64_t g = 0; g < group_count; ++g) ends[g + 1] += ends[g];
    std::vector<std::int32_t> next(ends.begin(), ends.end() - 1);
    grouped.order.resize(count);
    for (std::int64_t i = 0; i < count; ++i) grouped.order[next[group_of[i]]++] = static_cast<std::int32_t>(i);
    if (longest <= piece) return grouped;

    grouped.pieces.assign(std::min(group_count, count) + count / piece + 1, static_cast<std::int32_t>(count));
    std::int32_t begin = 0, made = 0;
    for (std::int64_t g = 0; g < group_count; ++g) {
        const std::int32_t end = ends[g + 1];
        for (std::int64_t row = begin; row < end; row += piece) grouped.pieces[made++] = static_cast<std::int32_t>(row);
        begin = end;
        ends[g + 1] = made;
    }
    return grouped;
}

CommonRows common_rows(const std::int64_t* left_rows, std::int64_t left_count, const std::int64_t* right_rows,
                       std::int64_t right_count) {
    CommonRows common;
    common.left.resize(std::min(left_count, right_count));
    common.right.resize(common.left.size());
    std::size_t found = 0;
    for (std::int64_t i = 0, j = 0; i < left_count && j < right_count;) {
        // Without a branch, which nothing could foresee: what is written counts only where the two are equal.
        const std::int64_t left = left_rows[i], right = right_rows[j];
        common.left[found] = static_cast<std::int32_t>(i);
        common.right[found] = static_cast<std::int32_t>(j);
        found += left == right;
        i += left <= right;
        j += right <= left;
    }
    common.left.resize(found);
    common.right.resize(found);
    common.left.shrink_to_fit();  // they live as long as the batch
    common.right.shrink_to_fit();
    return common;
}

}  // namespace marius
