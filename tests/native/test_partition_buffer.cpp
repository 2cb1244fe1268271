// The buffer walks every move of its table by real I/O, survives failures, and keeps what training threads write.
#include "io/partition_buffer.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>

#include "check.h"
#include "folder.h"
#include "io/crc32c.h"
#include "io/file.h"

using namespace marius;
using State = PartitionState;
using List = std::vector<std::int64_t>;

constexpr std::uint64_t kRows = 300, kStride = 48;  // a file of 14400 bytes: no multiple of a block

std::vector<std::byte> content(int k, unsigned version) {
    return noise(kRows * kStride, static_cast<unsigned>(k) * 1000 + version);
}

std::string file_of(const Folder& folder, int k) { return folder / (std::to_string(k) + "/0"); }

void make_files(const Folder& folder, int partitions) {
    for (int k = 0; k < partitions; ++k) {
        std::filesystem::create_directory(folder / std::to_string(k));
        write_bytes(file_of(folder, k), content(k, 0));
    }
}

std::byte* rows_of(PartitionBuffer& buffer, int k) {
    return buffer.memory()->data() + static_cast<std::size_t>(buffer.slot(k)) * buffer.slot_rows() * kStride;
}

bool holds(PartitionBuffer& buffer, int k, unsigned version) {
    return std::memcmp(rows_of(buffer, k), content(k, version).data(), kRows * kStride) == 0;
}

void fill(PartitionBuffer& buffer, int k, unsigned version) {
    std::memcpy(rows_of(buffer, k), content(k, version).data(), kRows * kStride);
}

void wait_for(const PartitionBuffer& buffer, int k, State state) {
    for (int i = 0; i < 5000 && buffer.state(k) != state; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(buffer.state(k) == state);
}

BufferShape shape_of(const Folder& folder, int partitions, int slots) {
    return {folder.path(), partitions, kRows, kStride, slots};
}

void walks_every_move(bool direct) {
    Folder folder;
    make_files(folder, 4);
    PartitionBuffer buffer(shape_of(folder, 4, 2), 2, direct);
    CHECK(buffer.slot_rows() == 512);
    CHECK(buffer.state(0) == State::on_disk);
    CHECK_THROWS(buffer.slot(0), std::invalid_argument);
    buffer.enter({0}, {1});  // 1, 2
    CHECK(buffer.state(0) == State::resident && holds(buffer, 0, 0));
    wait_for(buffer, 1, State::resident);
    CHECK(holds(buffer, 1, 0));
    buffer.mark_dirty({0});  // 5
    CHECK(buffer.state(0) == State::dirty);
    fill(buffer, 0, 1);
    buffer.flush();  // 6, 7
    CHECK(buffer.state(0) == State::resident && holds(buffer, 0, 1) && bytes_of(file_of(folder, 0)) == content(0, 1));
    buffer.enter({1}, {});  // 10
    CHECK(buffer.state(0) == State::on_disk);
    buffer.mark_dirty({1});
    fill(buffer, 1, 1);
    buffer.enter({2, 3}, {});  // 6, 8: the second slot is free only after the write
    CHECK(buffer.state(1) == State::on_disk && bytes_of(file_of(folder, 1)) == content(1, 1));
    buffer.enter({}, {});
    const int slot = buffer.adopt(0);  // 4
    CHECK(buffer.state(0) == State::dirty && buffer.slot(0) == slot && rows_of(buffer, 0)[5] == std::byte{0});
    std::filesystem::remove_all(folder / "0");
    write_bytes(folder / "0", {});
    CHECK_THROWS(buffer.flush(), IoError);  // 6, 9: the folder is a file
    CHECK(buffer.state(0) == State::dirty);
    CHECK_THROWS(buffer.enter({0, 1, 2}, {}), std::invalid_argument);
    std::filesystem::remove(folder / "0");
    buffer.flush();
    CHECK(buffer.state(0) == State::resident && std::filesystem::file_size(file_of(folder, 0)) == kRows * kStride);
    std::filesystem::remove(file_of(folder, 3));
    CHECK_THROWS(buffer.enter({0, 3}, {}), IoError);  // 1, 3
    CHECK(buffer.state(3) == State::on_disk);
    buffer.enter({0, 1}, {});
    CHECK(holds(buffer, 1, 1));
    buffer.close();
    buffer.close();
    CHECK_THROWS(buffer.enter({0}, {}), std::runtime_error);
}

void what_is_being_written_and_wanted_again_is_kept() {
    Folder folder;
    make_files(folder, 2);
    PartitionBuffer buffer(shape_of(folder, 2, 2), 1, true);
    buffer.enter({0, 1}, {});
    unsigned version = 0;  // a busy machine may have written 0 before it is wanted again, but not each time
    while (++version < 50 || (buffer.counters().loads == version + 1 && version < 5000)) {
        buffer.mark_dirty({0});
        fill(buffer, 0, version);
        buffer.enter({1}, {});  // partition 1 is there: nothing is waited for
        buffer.enter({0, 1}, {});
        CHECK(holds(buffer, 0, version));
    }
    CHECK(buffer.counters().loads < version + 1);  // two at first, and not one more for each return of 0
}

void checksums_guard_the_files() {
    Folder folder;
    make_files(folder, 2);
    PartitionBuffer buffer(shape_of(folder, 2, 1), 2, true);
    buffer.expect({{0, crc32c(content(0, 0).data(), kRows * kStride)}, {1, 12345}});
    buffer.enter({0}, {});
    CHECK_THROWS(buffer.enter({1}, {}), std::runtime_error);
    buffer.adopt(1);
    fill(buffer, 1, 3);
    buffer.flush();
    CHECK(buffer.checksums().at(1) == crc32c(content(1, 3).data(), kRows * kStride));
    buffer.enter({0}, {});
    auto damaged = content(1, 3);
    damaged[7000] ^= std::byte{4};
    write_bytes(file_of(folder, 1), damaged);
    CHECK_THROWS(buffer.enter({1}, {}), std::runtime_error);
}

void impossible_calls_are_refused() {
    Folder folder;
    make_files(folder, 3);
    const BufferShape good = shape_of(folder, 3, 2);
    for (auto change :
         {+[](BufferShape& s) { s.stride = 20; }, +[](BufferShape& s) { s.slots = 0; }, +[](BufferShape& s) { s.rows = 0; },
          +[](BufferShape& s) { s.rows = std::uint64_t{1} << 60; }, +[](BufferShape& s) { s.partitions = 0; }}) {
        BufferShape bad = good;
        change(bad);
        CHECK_THROWS(PartitionBuffer(bad, 2, true), std::invalid_argument);
    }
    CHECK_THROWS(PartitionBuffer({folder / "absent", 3, kRows, kStride, 2}, 2, true), IoError);
    PartitionBuffer buffer(good, 2, true);
    CHECK_THROWS(buffer.enter({3}, {}), std::invalid_argument);
    CHECK_THROWS(buffer.enter({0}, {0}), std::invalid_argument);
    CHECK_THROWS(buffer.mark_dirty({0}), std::invalid_argument);
    buffer.enter({0, 1}, {});
    CHECK_THROWS(buffer.adopt(2), std::invalid_argument);
    CHECK_THROWS(buffer.adopt(1), std::invalid_argument);
}

// A failed write (the file size limit of the process) loses nothing and blocks nothing.
void a_failed_write_keeps_the_data() {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit usual{};
    getrlimit(RLIMIT_FSIZE, &usual);
    for (const bool retry : {true, false}) {
        Folder folder;
        make_files(folder, 3);
        PartitionBuffer buffer(shape_of(folder, 3, 1), 2, true);
        buffer.enter({0}, {});
        buffer.mark_dirty({0});
        fill(buffer, 0, 9);
        rlimit small{4096, usual.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        CHECK_THROWS(buffer.enter({1}, {2}), IoError);
        CHECK_THROWS(buffer.enter({1}, {2}), IoError);
        CHECK(buffer.state(0) == State::dirty && holds(buffer, 0, 9));
        CHECK(!std::filesystem::exists(folder / "0/.0.tmp") && bytes_of(file_of(folder, 0)) == content(0, 0));
        setrlimit(RLIMIT_FSIZE, &usual);
        if (!retry) continue;  // destroyed with dirty data and without hanging
        buffer.enter({1}, {});
        CHECK(bytes_of(file_of(folder, 0)) == content(0, 9));
    }
}

// Training threads change rows of what `now` names, at once with loads and write-backs of the rest.
void training_threads_and_io(bool direct) {
    constexpr int partitions = 7, slots = 4, steps = 60;
    Folder folder;
    make_files(folder, partitions);
    std::vector<unsigned> version(partitions);
    std::mt19937 random(1);
    PartitionBuffer buffer(shape_of(folder, partitions, slots), 3, direct);
    const auto draw = [&] {
        List all{0, 1, 2, 3, 4, 5, 6};
        std::shuffle(all.begin(), all.end(), random);
        return all;
    };
    List order = draw();
    for (int step = 0; step < steps; ++step) {
        const List now(order.begin(), order.begin() + 2), next(order.begin() + 2, order.begin() + 4);
        buffer.enter(now, next);
        std::vector<std::thread> trainers;
        for (const auto k : now)
            trainers.emplace_back([&, k] {
                CHECK(holds(buffer, static_cast<int>(k), version[static_cast<std::size_t>(k)]));
                if (step % 3 != 0) fill(buffer, static_cast<int>(k), ++version[static_cast<std::size_t>(k)]);
            });
        for (auto& trainer : trainers) trainer.join();
        if (step % 3 != 0) buffer.mark_dirty(now);
        if (step % 7 == 0) {
            buffer.flush();
            for (const auto k : now) CHECK(holds(buffer, static_cast<int>(k), version[static_cast<std::size_t>(k)]));
        }
        if (step % 5 != 0) {
            std::rotate(order.begin(), order.begin() + 2, order.end());
        } else {
            order = draw();
        }
    }
    buffer.flush();
    for (int k = 0; k < partitions; ++k) CHECK(bytes_of(file_of(folder, k)) == content(k, version[static_cast<std::size_t>(k)]));
    const BufferCounters counters = buffer.counters();
    const std::uint64_t moved = buffer.direct() ? round_up(kRows * kStride, kBlock) : kRows * kStride;
    CHECK(counters.bytes_read == counters.loads * moved && counters.bytes_written == counters.writes * moved);
}

int main() {
    for (const bool direct : {true, false}) {
        walks_every_move(direct);
        training_threads_and_io(direct);
    }
    what_is_being_written_and_wanted_again_is_kept();
    checksums_guard_the_files();
    impossible_calls_are_refused();
    a_failed_write_keeps_the_data();
}
