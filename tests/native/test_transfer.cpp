// Reads and writes of any alignment and length, direct and buffered; what failed says where and leaves no trace.
#include "io/transfer.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <stdexcept>

#include "check.h"
#include "folder.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "io/memory.h"

using namespace marius;

// Reads a range into memory that lies `shift` bytes after a block, between bytes that must stay.
void one_range(const std::string& path, const std::vector<std::byte>& data, std::size_t offset, std::size_t length,
               std::size_t shift, bool direct) {
    HugeMemory memory(round_up(kBlock + shift + length + 1, kBlock));
    std::byte* const out = memory.data() + kBlock + shift;
    std::memset(memory.data(), 0xaa, memory.size());
    const Moved moved =
        read_file({.path = path, .memory = out, .length = length, .offset = offset, .direct = direct, .checksum = true});
    CHECK(std::memcmp(out, data.data() + offset, length) == 0);
    for (const std::byte* each = memory.data(); each < memory.data() + memory.size();
         each = each + 1 == out ? out + length : each + 1)
        CHECK(*each == std::byte{0xaa});
    CHECK(moved.checksum == crc32c(data.data() + offset, length));
    CHECK(direct || moved.bytes == length);
}

void ranges_of_any_alignment(bool direct) {
    Folder folder;
    const auto data = noise(18 * kMiB + 777, 1);  // more than a caller's thread reads alone
    write_bytes(folder / "file", data);
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, 4096ul, 5000ul, kMiB - 1, 2 * kMiB + 5})
        for (const std::size_t length : {std::size_t{0}, std::size_t{1}, 4095ul, 4096ul, 9999ul, kMiB - 4096, kMiB + 3, 2 * kMiB,
                                         3 * kMiB + 12345, data.size() - offset})
            for (const std::size_t shift : {std::size_t{1}, offset % kBlock})  // the second as it lies in the file
                one_range(folder / "file", data, offset, length, shift, direct);
}

void padded_memory_needs_no_copy(bool direct) {
    Folder folder;
    const auto data = noise(2 * kMiB + 4096 + 16, 2);
    write_bytes(folder / "file", data);
    HugeMemory memory(round_up(data.size(), kBlock));
    const Moved moved = read_file({.path = folder / "file",
                                   .memory = memory.data(),
                                   .length = data.size(),
                                   .direct = direct,
                                   .padded = true,
                                   .whole = true});
    CHECK(std::memcmp(memory.data(), data.data(), data.size()) == 0);
    CHECK(moved.bytes == (direct && supports_direct(folder.path()) ? memory.size() : data.size()));
    write_file({.path = folder / "copy", .memory = memory.data(), .length = data.size(), .direct = direct, .padded = true});
    CHECK(bytes_of(folder / "copy") == data);
}

void written_files_are_whole(bool direct) {
    Folder folder;
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, 4096ul, 4097ul, 2 * kMiB, 2 * kMiB + 100}) {
        const auto data = noise(length + 1, 3);
        const Moved moved = write_file({.path = folder / "file", .memory = data.data() + 1, .length = length, .direct = direct});
        CHECK(bytes_of(folder / "file") == std::vector(data.begin() + 1, data.end()));
        CHECK(moved.checksum == crc32c(data.data() + 1, length));
        CHECK(!std::filesystem::exists(folder / ".file.tmp"));
    }
}

void parts_written_in_place_are_the_file(bool direct) {
    Folder folder;
    const auto data = noise(3 * kMiB + 777, 5);
    write_bytes(folder / "file", noise(5 * kMiB, 6));  // what was there beyond the parts is gone
    std::size_t offset = 0;
    for (const std::size_t length : {8 * kBlock, 2 * kMiB + 3 * kBlock, data.size() - 2 * kMiB - 11 * kBlock}) {
        const Moved moved = write_file({.path = folder / "file",
                                        .memory = data.data() + offset,
                                        .length = length,
                                        .offset = offset,
                                        .direct = direct,
                                        .in_place = true});
        CHECK(moved.checksum == crc32c(data.data() + offset, length));
        offset += length;
        CHECK(bytes_of(folder / "file") == std::vector(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(offset)));
    }
    write_file({.path = folder / "new", .memory = data.data(), .length = 5, .direct = direct, .in_place = true});
    CHECK(bytes_of(folder / "new").size() == 5);
    CHECK_THROWS(write_file({.path = folder / "file", .memory = data.data(), .length = 5, .offset = 4095, .in_place = true}),
                 std::invalid_argument);
    CHECK_THROWS(write_file({.path = folder / "file", .memory = data.data(), .length = 5, .offset = 4096}),
                 std::invalid_argument);
}

void wrong_sizes_are_named(bool direct) {
    Folder folder;
    write_bytes(folder / "file", noise(5000, 4));
    std::vector<std::byte> out(9000);
    ReadRequest request{.path = folder / "file", .memory = out.data(), .length = 5001, .direct = direct};
    try {
        read_file(request);
        CHECK(false);
    } catch (const std::runtime_error& error) {
        const std::string text = error.what();
        CHECK(text.find(request.path) == 0 && text.find("5000") != text.npos && text.find("5001") != text.npos);
    }
    request.length = 4999;
    read_file(request);
    request.whole = true;
    CHECK_THROWS(read_file(request), std::runtime_error);
}

void failures_carry_errno_and_leave_nothing(bool direct) {
    Folder folder;
    std::vector<std::byte> data(5000);
    try {
        read_file({.path = folder / "absent", .memory = data.data(), .length = 1, .direct = direct});
        CHECK(false);
    } catch (const IoError& error) {
        CHECK(error.code().value() == ENOENT && error.path == folder / "absent");
    }
    // A folder that is not empty cannot be renamed over.
    std::filesystem::create_directories(folder / "taken/inside");
    CHECK_THROWS(write_file({.path = folder / "taken", .memory = data.data(), .length = 5000, .direct = direct}), IoError);
    CHECK(!std::filesystem::exists(folder / ".taken.tmp"));
    CHECK_THROWS(write_file({.path = folder / "no/file", .memory = data.data(), .length = 5000, .direct = direct}), IoError);
    write_file({.path = folder / "no/file", .memory = data.data(), .length = 5000, .direct = direct, .make_folder = true});
    CHECK(bytes_of(folder / "no/file") == data);
}

void a_cancelled_read_reports() {
    Folder folder;
    write_bytes(folder / "file", noise(5000, 5));
    std::vector<std::byte> out(5000);
    const std::atomic<bool> cancelled = true;
    std::promise<Moved> result;
    IoPool pool(2);
    start_read(pool, {.path = folder / "file", .memory = out.data(), .length = 5000, .cancelled = &cancelled},
               [&](const Moved& moved) { result.set_value(moved); });
    CHECK_THROWS(std::rethrow_exception(result.get_future().get().error), IoError);
}

void memory_is_aligned_and_zero() {
    for (const std::size_t size : {std::size_t{1}, 4096ul, 2 * kMiB, 5 * kMiB + 1}) {
        HugeMemory memory(size);
        CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % (2 * kMiB) == 0);
        for (std::size_t i = 0; i < size; i += 997) CHECK(memory.data()[i] == std::byte{0});
        std::memset(memory.data(), 1, size);
    }
    CHECK_THROWS(HugeMemory(std::size_t{1} << 60), std::system_error);
}

int main() {
    for (const bool direct : {true, false}) {
        ranges_of_any_alignment(direct);
        padded_memory_needs_no_copy(direct);
        written_files_are_whole(direct);
        parts_written_in_place_are_the_file(direct);
        wrong_sizes_are_named(direct);
        failures_carry_errno_and_leave_nothing(direct);
    }
    a_cancelled_read_reports();
    memory_is_aligned_and_zero();
}
