// Pinned memory over a driver that fails where it is told to: all or nothing, undone last first, errors cleared.
#include "cuda/pin.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"
#include "cuda/error.h"

using namespace marius;

namespace {

constexpr std::uint64_t page = 4096, slot = 3 * page, shift = std::uint64_t{1} << 40;  // devices see memory elsewhere
constexpr std::uint64_t bytes = 7 * slot + page, most = 2 * slot + page;               // four pieces

struct Entry {
    std::string call;
    void* base;
    std::uint64_t bytes;
};

class FakeDriver final : public Driver {
public:
    int calls = 0, fail_at = 0, pending = 0, broken_piece = 0;
    bool fail_unregister = false;
    std::vector<Entry> done, live;

    std::string text(int code) override { return "error " + std::to_string(code) + " of the fake"; }
    void clear_error() override { pending = 0; }
    int register_host(int, void* base, std::uint64_t size) override {
        if (failing()) return pending = 2;
        done.push_back({"register", base, size});
        live.push_back(done.back());
        return 0;
    }
    int unregister_host(void* base) override {
        CHECK(!live.empty() && live.back().base == base);  // last first
        done.push_back({"unregister", base, live.back().bytes});
        live.pop_back();
        return fail_unregister ? pending = 5 : 0;
    }
    int device_pointer(int, void* base, std::uint64_t* address) override {
        if (failing()) return pending = 3;
        const bool broken = broken_piece > 0 && static_cast<int>(live.size()) == broken_piece;
        *address = address_of(base) + shift + (broken ? page : 0);
        return 0;
    }

    int device_count(int*) override { return 0; }
    int facts(int, marius_cuda_facts*) override { return 0; }
    int multiprocessors(int, int*) override { return 0; }
    int launch(int, void*, const CopyRows&, Grid) override { return 0; }
    int launch(int, void*, const SegmentSum&, Grid) override { return 0; }
    int launch(int, void*, int, const marius_cuda_neighbours&, Grid) override { return 0; }
    int launch(int, void*, const SoftmaxLoss&, Grid) override { return 0; }
    int launch_rows(int, void*, const RowStepJob&, Grid) override { return 0; }
    int launch_columns(int, void*, const RowStepJob&, Grid) override { return 0; }
    int copy(int, void*, void*, const void*, std::uint64_t) override { return 0; }
    int call_host(int, void*, void (*)(void*), void*) override { return 0; }

private:
    bool failing() { return ++calls == fail_at; }
};

struct Mapping {
    std::byte* data;
    Mapping() : data(static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        CHECK(data != MAP_FAILED);
    }
    ~Mapping() { munmap(data, bytes); }
};

std::string failure_of(FakeDriver& driver, void* base) {
    try {
        const PinnedMemory pinned(driver, 3, base, bytes, slot, 2, most);
    } catch (const DriverError& error) {
        return error.what();
    }
    return "";
}

long page_faults() {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void pieces_end_on_slots_and_go_last_first() {
    const Mapping memory;
    memory.data[0] = std::byte{6}, memory.data[bytes - 1] = std::byte{9};
    FakeDriver driver;
    {
        PinnedMemory pinned(driver, 0, memory.data, bytes, slot, 3, most);
        CHECK(pinned.chunks() == 4 && pinned.address() == address_of(memory.data) + shift);
        std::uint64_t at = 0;
        for (const Entry& piece : driver.live) {
            CHECK(piece.base == memory.data + at && piece.bytes <= most);
            at += piece.bytes;
            CHECK(at % slot == 0 || at == bytes);
        }
        CHECK(at == bytes);
        const long faults = page_faults();
        for (std::uint64_t p = 0; p < bytes; p += page) memory.data[p + 100] = std::byte{1};
        CHECK(page_faults() < faults + static_cast<long>(bytes / page / 2));  // the pages had their memory, stray faults aside
        CHECK(memory.data[0] == std::byte{6} && memory.data[page] == std::byte{0} && memory.data[bytes - 1] == std::byte{9});
        pinned.release();
        CHECK(driver.live.empty() && driver.done.size() == 8);
        pinned.release();
    }
    CHECK(driver.done.size() == 8);
    {
        const PinnedMemory pinned(driver, 0, memory.data, bytes, slot, 1, most);
    }
    CHECK(driver.live.empty() && driver.done.size() == 16);
    const PinnedMemory whole(driver, 0, memory.data, bytes, slot, 1);
    CHECK(whole.chunks() == 1);
    const PinnedMemory small_limit(driver, 0, memory.data, bytes, slot, 1, 1);
    CHECK(small_limit.chunks() == 8);  // never less than a slot
}

void every_failing_call_undoes_all() {
    const Mapping memory;
    for (int n = 1; n <= 8; ++n) {
        FakeDriver driver;
        driver.fail_at = n;
        const std::string text = failure_of(driver, memory.data);
        CHECK(driver.live.empty() && driver.pending == 0 && driver.calls == n);
        CHECK(contains(text, n % 2 == 1 ? "cudaHostRegister of" : "cudaHostGetDevicePointer of"));
        CHECK(contains(text, n % 2 == 1 ? "error 2 of the fake (2)" : "error 3 of the fake (3)"));
        CHECK(contains(text, "piece " + std::to_string((n + 1) / 2)) && contains(text, "device 3"));
        CHECK(contains(text, std::to_string(n < 7 ? 2 * slot : slot + page) + " bytes"));
    }
    FakeDriver driver;
    driver.fail_at = 9;
    CHECK(failure_of(driver, memory.data).empty() && driver.live.empty());
}

void addresses_must_continue() {
    const Mapping memory;
    for (int piece = 2; piece <= 4; ++piece) {
        FakeDriver driver;
        driver.broken_piece = piece;
        const std::string text = failure_of(driver, memory.data);
        CHECK(contains(text, "the device sees") && contains(text, "piece " + std::to_string(piece)));
        CHECK(driver.live.empty());
    }
}

void a_failing_end_still_ends() {
    const Mapping memory;
    FakeDriver driver;
    {
        PinnedMemory pinned(driver, 0, memory.data, bytes, slot, 1, most);
        driver.fail_unregister = true;
        CHECK_THROWS(pinned.release(), DriverError);
        CHECK(driver.live.empty() && driver.pending == 0);
    }
    driver.fail_unregister = true, driver.calls = 0, driver.fail_at = 5;  // undoing fails too: the first failure is told
    CHECK(contains(failure_of(driver, memory.data), "cudaHostRegister") && driver.live.empty() && driver.pending == 0);
}

void misfits_touch_nothing() {
    const Mapping memory;
    FakeDriver driver;
    const auto pin = [&](std::byte* base, std::uint64_t size, std::uint64_t boundary) {
        const PinnedMemory pinned(driver, 0, base, size, boundary, 1, most);
    };
    CHECK_THROWS(pin(memory.data, 0, slot), std::invalid_argument);
    CHECK_THROWS(pin(memory.data, bytes, 0), std::invalid_argument);
    CHECK_THROWS(pin(nullptr, bytes, slot), std::invalid_argument);
    CHECK_THROWS(pin(memory.data, bytes, 100), std::invalid_argument);
    CHECK_THROWS(pin(memory.data + 1, bytes - 1, slot), std::invalid_argument);
    CHECK(driver.calls == 0);
    pin(memory.data + 5, 1000, 1000);  // one piece may begin anywhere
    CHECK(driver.done.size() == 2);
}

}  // namespace

int main() {
    pieces_end_on_slots_and_go_last_first();
    every_failing_call_undoes_all();
    addresses_must_continue();
    a_failing_end_still_ends();
    misfits_touch_nothing();
}
