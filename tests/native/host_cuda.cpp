// The CUDA library's interface on the host: the kernels' own bodies, run at once, place by place in a shuffled order
// that differs from call to call. Streams are ignored; host memory counts as device memory.
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "cuda/driver.h"
#include "cuda/launch.h"

namespace marius {
namespace {

constexpr int devices = 2, fake_multiprocessors = 4;
enum { wrong_device = 101 };

// Every place of a grid once, in steps that share no factor with their number.
template <class Body>
int run_places(int device, Grid grid, Body body) {
    if (device < 0 || device >= devices) return wrong_device;
    static std::uint64_t calls = 0;
    const auto places = static_cast<std::uint64_t>(grid.blocks) * grid.threads;
    std::uint64_t step = (++calls * 7919) % places | 1;
    while (std::gcd(step, places) != 1) step += 2;
    std::uint64_t at = calls * 104729 % places;
    for (std::uint64_t n = 0; n < places; ++n, at = (at + step) % places)
        body(Place{.block = static_cast<std::int64_t>(at / grid.threads),
                   .blocks = grid.blocks,
                   .thread = static_cast<int>(at % grid.threads),
                   .threads = grid.threads});
    return 0;
}

class HostDriver final : public Driver {
public:
    std::string text(int code) override { return code == wrong_device ? "invalid device ordinal" : "unknown error"; }
    void clear_error() override {}

    int device_count(int* count) override {
        *count = devices;
        return 0;
    }

    int facts(int device, marius_cuda_facts* facts) override {
        if (device < 0 || device >= devices) return wrong_device;
        std::strcpy(facts->name, "host");
        std::strcpy(facts->pci_bus_id, "0000:00:00.0");
        facts->major = 9;
        facts->multiprocessors = fake_multiprocessors;
        facts->can_map_host_memory = 1;
        facts->driver_version = facts->runtime_version = 13000;
        facts->memory = std::uint64_t{1} << 30;
        return 0;
    }

    int multiprocessors(int device, int* count) override {
        *count = fake_multiprocessors;
        return device < 0 || device >= devices ? wrong_device : 0;
    }

    int register_host(int device, void*, std::uint64_t) override { return device < 0 || device >= devices ? wrong_device : 0; }
    int unregister_host(void*) override { return 0; }
    int device_pointer(int, void* base, std::uint64_t* address) override {
        *address = address_of(base);
        return 0;
    }

    int launch(int device, void*, const CopyRows& job, Grid grid) override {
        int failed = 0;
        with_vectors(job, [&](auto source, auto target) {
            failed = run_places(device, grid, [&](const Place& place) {
                if (job.sm_flags && place.thread == 0)
                    job.sm_flags[place.block % fake_multiprocessors % MARIUS_CUDA_SM_FLAGS] = 1;
                copy_rows<decltype(source), decltype(target)>(job, place, memory_);
            });
        });
        return failed;
    }

    int launch(int device, void*, const SegmentSum& job, Grid grid) override {
        const auto run = [&](auto floats) {
            return run_places(device, grid, [&](const Place& place) { segment_sum<decltype(floats)>(job, place, memory_); });
        };
        return job.vector_elements == 4 ? run(Vector<float, 4>{}) : run(Vector<float, 1>{});
    }

    int launch_rows(int device, void*, const RowStepJob& job, Grid grid) override {
        int code = 0;
        formulas::with_optimizer(job.optimizer, [&](auto optimizer) {
            if constexpr (decltype(optimizer)::per_row)
                code = run_places(device, grid, [&](const Place& place) { step_rows<decltype(optimizer)>(job, place); });
        });
        return code;
    }

    int launch_columns(int device, void*, const RowStepJob& job, Grid grid) override {
        int failed = 0;
        with_kind(job, [&](auto each, auto floats) {
            failed = run_places(device, grid,
                                [&](const Place& place) { step_columns<decltype(each), decltype(floats)>(job, place, memory_); });
        });
        return failed;
    }

    int launch(int device, void*, const SoftmaxLoss& job, Grid grid) override {
        int failed = 0;
        with_form<OneLane>(job, [&](auto floats, auto held) {
            failed = run_places(device, grid, [&](const Place& place) {
                softmax_loss<decltype(floats), decltype(held)::value>(job, place, memory_, OneLane{});
            });
        });
        return failed;
    }

    int launch(int device, void*, int stage, const marius_cuda_neighbours& job, Grid grid) override {
        int failed = 0;
        with_stage(stage, [&](auto known) {
            failed = run_places(device, grid, [&](const Place& place) { neighbours<decltype(known)::value>(job, place); });
        });
        return failed;
    }

    int copy(int device, void*, void* target, const void* source, std::uint64_t bytes) override {
        if (device < 0 || device >= devices) return wrong_device;
        std::memcpy(target, source, bytes);
        return 0;
    }

    int call_host(int device, void*, void (*function)(void*), void* argument) override {
        if (device < 0 || device >= devices) return wrong_device;
        function(argument);
        return 0;
    }

private:
    PlainMemory memory_;
};

}  // namespace
}  // namespace marius

extern "C" __attribute__((visibility("default"))) const marius_cuda_api* marius_cuda(void) {
    static marius::HostDriver driver;
    return marius::api_over(driver);
}
