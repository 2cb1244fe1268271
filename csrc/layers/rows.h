// Rows of numbers in memory: float32, or bfloat16 as its bits.
#pragma once
#include <algorithm>
#include <cstdint>

namespace marius {

using BrainBits = std::uint16_t;  // of a bfloat16

template <class T> struct Rows {  // `count` rows, `stride` numbers apart
    T* data = nullptr;
    std::int64_t count = 0, stride = 0;

    T* at(std::int64_t i) const { return data + i * stride; }
};

constexpr std::int64_t ahead = 12;       // rows requested before they are read
constexpr std::int64_t lines_ahead = 8;  // cache lines of each row; the hardware prefetcher follows with the rest

template <class Number> void request(const Number* row, std::int64_t dim) {
    constexpr std::int64_t line = 64 / sizeof(Number);
    for (std::int64_t at = 0; at < std::min(dim, lines_ahead * line); at += line) __builtin_prefetch(row + at);
}

}  // namespace marius
