#include "cuda/pin.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "base/bytes.h"
#include "base/parallel.h"
#include "cuda/error.h"

namespace marius {
namespace {

std::string hex(std::uint64_t address) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

// Makes the system give memory to every page, by writing what is there already, atomically. volatile keeps the write.
void touch(std::byte* base, std::uint64_t bytes, int threads) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t first = round_down(reinterpret_cast<std::uintptr_t>(base), page) - reinterpret_cast<std::uintptr_t>(base);
    const auto pages = static_cast<std::int64_t>((bytes - first + page - 1) / page);
    parallel_for(pages, static_cast<std::int64_t>(32 * kMiB / page), threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p) {
            auto at =
                reinterpret_cast<volatile unsigned char*>(base + (p == 0 ? 0 : first + static_cast<std::uint64_t>(p) * page));
            __atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
        }
    });
}

}  // namespace

PinnedMemory::PinnedMemory(Driver& driver, int device, void* base, std::uint64_t bytes, std::uint64_t boundary, int threads,
                           std::uint64_t most_bytes)
    : driver_(driver) {
    if (bytes == 0 || boundary == 0 || base == nullptr)
        throw std::invalid_argument(std::to_string(bytes) + " bytes at " + hex(address_of(base)) + " with a boundary of " +
                                    std::to_string(boundary) + " bytes");
    const std::uint64_t step = std::max(boundary, round_down(most_bytes, boundary));
    if (bytes > step && (address_of(base) | boundary) % kBlock != 0)
        throw std::invalid_argument("memory at " + hex(address_of(base)) + " with a boundary of " + std::to_string(boundary) +
                                    " bytes: pieces must begin on pages of " + std::to_string(kBlock) + " bytes");
    auto start = static_cast<std::byte*>(base);
    touch(start, bytes, threads);
    registrations_.reserve((bytes + step - 1) / step);
    try {
        for (std::uint64_t at = 0; at < bytes; at += step) add({start + at, std::min(step, bytes - at)}, device);
    } catch (...) {
        try {
            release();
        } catch (const std::exception&) {  // the first failure is the one to tell
        }
        throw;
    }
}

void PinnedMemory::add(Registration part, int device) {
    const std::string where = std::to_string(part.bytes) + " bytes at " + hex(address_of(part.base)) + ", piece " +
                              std::to_string(registrations_.size() + 1) + " of pinned memory, device " + std::to_string(device);
    check(driver_, driver_.register_host(device, part.base, part.bytes), "cudaHostRegister of " + where);
    registrations_.push_back(part);
    std::uint64_t address = 0;
    check(driver_, driver_.device_pointer(device, part.base, &address), "cudaHostGetDevicePointer of " + where);
    if (registrations_.size() == 1) address_ = address;
    const std::uint64_t expected = address_ + static_cast<std::uint64_t>(part.base - registrations_.front().base);
    if (address != expected)
        throw DriverError(-1, "pin: the device sees " + where + ", at " + hex(address) + ", not at " + hex(expected) +
                                  " after the piece before it");
}

PinnedMemory::~PinnedMemory() {
    try {
        release();
    } catch (const std::exception&) {  // nothing is left to be done about it
    }
}

void PinnedMemory::release() {
    std::exception_ptr failure;
    for (; !registrations_.empty(); registrations_.pop_back()) {
        const Registration& part = registrations_.back();
        try {
            check(driver_, driver_.unregister_host(part.base),
                  "cudaHostUnregister of " + std::to_string(part.bytes) + " bytes at " + hex(address_of(part.base)));
        } catch (const DriverError&) {
            if (!failure) failure = std::current_exception();
        }
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace marius
