// Sizes and alignment of memory and disk blocks.
#pragma once
#include <cstddef>
#include <cstdint>

namespace marius {

inline constexpr std::size_t kKiB = std::size_t{1} << 10;
inline constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Alignment of addresses, offsets and lengths of direct I/O: a page, and at least every disk's logical block.
inline constexpr std::size_t kBlock = 4 * kKiB;

constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t step) { return value / step * step; }
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) { return round_down(value + step - 1, step); }

inline bool block_aligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % kBlock == 0; }

}  // namespace marius
