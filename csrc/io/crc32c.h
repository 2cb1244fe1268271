// CRC-32C (Castagnoli, RFC 3720): the checksum of every data file.
#pragma once
#include <cstddef>
#include <cstdint>

namespace marius {

/// Checksum of `size` bytes that continues `initial`, the checksum of the bytes before them (0 for none).
/// Uses the SSE4.2 instruction where the processor has it, tables elsewhere.
std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t initial = 0);

/// The same, by tables only (slicing by 8).
std::uint32_t crc32c_by_tables(const void* data, std::size_t size, std::uint32_t initial = 0);

/// Checksum of A followed by B, from the checksums of A and of B and the length of B in bytes. With it, different threads
/// compute the checksums of parts of a file.
std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

/// Whether `crc32c` uses the processor's instruction.
bool crc32c_in_hardware();

}  // namespace marius
