#include "rows/sort.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace marius {
namespace {

constexpr int most_digit_bits = 11;

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
    std::int64_t bits = 0;
    for (std::int64_t i = 0; i < count; ++i) bits |= rows[i];
    if (bits < 0) {
        const std::int64_t* negative = std::find_if(rows, rows + count, [](std::int64_t row) { return row < 0; });
        throw std::invalid_argument("sort_rows: row " + std::to_string(*negative) + " at position " +
                                    std::to_string(negative - rows) + " is negative");
    }
    return static_cast<std::uint64_t>(bits);
}

// The places of items by one digit of their rows: where the next item with each digit goes.
class Places {
public:
    Places(int pass, int digit_bits) : shift_(pass * digit_bits), places_(std::size_t{1} << digit_bits) {}

    void count(std::uint64_t row) { ++places_[digit(row)]; }
    void begin() {
        std::uint32_t start = 0;
        for (std::uint32_t& place : places_) start += std::exchange(place, start);
    }
    std::uint32_t take(std::uint64_t row) { return places_[digit(row)]++; }

private:
    std::size_t digit(std::uint64_t row) const { return row >> shift_ & (places_.size() - 1); }

    int shift_;
    std::vector<std::uint32_t> places_;
};

// As many passes as digits of the most bits take, with digits of as few bits as they need.
std::vector<Places> places_of(const std::int64_t* rows, std::int64_t count, int bits) {
    const int passes = (bits + most_digit_bits - 1) / most_digit_bits;
    std::vector<Places> places;
    places.reserve(passes);
    for (int pass = 0; pass < passes; ++pass) {
        Places& each = places.emplace_back(pass, (bits + passes - 1) / passes);
        for (std::int64_t i = 0; i < count; ++i) each.count(static_cast<std::uint64_t>(rows[i]));
        each.begin();
    }
    return places;
}

template <class Item> SortedRows sorted_by(const std::int64_t* rows, std::int64_t count, int bits, std::int32_t* inverse) {
    std::unique_ptr<Item[]> items(new Item[count]), other(new Item[count]);
    std::vector<Places> places = places_of(rows, count, bits);
    if (places.empty())
        for (std::int64_t i = 0; i < count; ++i) items[i] = Item(rows[i], i);
    else
        for (std::int64_t i = 0; i < count; ++i) items[places[0].take(static_cast<std::uint64_t>(rows[i]))] = Item(rows[i], i);
    for (std::size_t pass = 1; pass < places.size(); ++pass) {
        for (std::int64_t i = 0; i < count; ++i) other[places[pass].take(items[i].row())] = items[i];
        items.swap(other);
    }
    SortedRows sorted;
    sorted.order.resize(count);
    sorted.unique.resize(count);
    sorted.starts.resize(count + 1);
    std::int64_t segment = -1;
    // Without a branch for a new row, which nothing could foresee: the last to write into a segment is right.
    for (std::int64_t i = 0; i < count; ++i) {
        segment += i == 0 || items[i].row() != items[i - 1].row();
        sorted.order[i] = items[i].position();
        sorted.unique[segment] = static_cast<std::int64_t>(items[i].row());
        sorted.starts[segment + 1] = static_cast<std::int32_t>(i + 1);
        if (inverse) inverse[items[i].position()] = static_cast<std::int32_t>(segment);
    }
    sorted.unique.resize(segment + 1);
    sorted.starts.resize(segment + 2);
    return sorted;
}

}  // namespace

SortedRows sort_rows(const std::int64_t* rows, std::int64_t count, std::int32_t* inverse) {
    if (count > std::numeric_limits<std::int32_t>::max())
        throw std::invalid_argument("sort_rows: " + std::to_string(count) + " rows, at most 2147483647 allowed");
    const int bits = std::bit_width(bits_of(rows, count));
    return bits <= 32 ? sorted_by<Narrow>(rows, count, bits, inverse) : sorted_by<Wide>(rows, count, bits, inverse);
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

PlacedRows place_rows(const std::int32_t* places, std::int64_t count, const std::int64_t* nodes, std::int64_t asked,
                      std::int64_t first) {
    for (std::int64_t i = 0; i < asked; ++i)
        if (static_cast<std::uint64_t>(nodes[i]) >= static_cast<std::uint64_t>(count))
            throw std::invalid_argument("place_rows: node " + std::to_string(nodes[i]) + " of " + std::to_string(count));
    constexpr std::int64_t ahead = 16;
    PlacedRows placed;
    placed.rows.resize(asked);
    const auto found = std::make_unique_for_overwrite<std::int64_t[]>(asked);
    const auto position = std::make_unique_for_overwrite<std::int32_t[]>(asked);
    std::int64_t others = 0;
    // Without a branch, which nothing could foresee: what is written for a node that has a row is written over.
    for (std::int64_t i = 0; i < asked; ++i) {
        if (i + ahead < asked) __builtin_prefetch(places + nodes[i + ahead]);
        const std::int32_t row = places[nodes[i]];
        placed.rows[i] = row;
        found[others] = nodes[i];
        position[others] = static_cast<std::int32_t>(i);
        others += row < 0;
    }
    SortedRows sorted = sort_rows(found.get(), others);
    for (std::int64_t k = 0; k < others; ++k) placed.rows[position[sorted.order[k]]] = first + k;
    placed.others = std::move(sorted.unique);
    return placed;
}

}  // namespace marius
