// The C interface: it checks arguments, calls the driver, and turns exceptions into codes and text.
#include "cuda/api.h"

#include <cstdio>
#include <memory>

#include "cuda/driver.h"
#include "cuda/error.h"
#include "cuda/host_rows.h"
#include "cuda/launch.h"
#include "cuda/pin.h"

namespace marius {
namespace {

Driver* driver = nullptr;

int failed(marius_cuda_error* error, int code, const std::string& text) {
    if (error) {
        error->code = code;
        std::snprintf(error->text, sizeof error->text, "%s", text.c_str());
    }
    return code;
}

// Makes a call and returns its code. `what` names the call in the error for arguments that do not fit.
template <class Call>
int guarded(const char* what, marius_cuda_error* error, Call call) {
    try {
        call();
        return 0;
    } catch (const DriverError& failure) {
        return failed(error, failure.code, failure.what());
    } catch (const std::exception& failure) {
        return failed(error, -1, std::string(what) + ": " + failure.what());
    }
}

std::string on(int device) { return " on device " + std::to_string(device); }

int multiprocessors(int device) {
    int count = 0;
    check(*driver, driver->multiprocessors(device, &count), "cudaDeviceGetAttribute" + on(device));
    return count;
}

int device_count(int* count, marius_cuda_error* error) {
    return guarded("device_count", error, [&] { check(*driver, driver->device_count(count), "cudaGetDeviceCount"); });
}

int device_facts(int device, marius_cuda_facts* facts, marius_cuda_error* error) {
    return guarded("device_facts", error, [&] {
        *facts = {};
        check(*driver, driver->facts(device, facts), "facts of device " + std::to_string(device));
    });
}

int pin(int device, void* base, uint64_t bytes, uint64_t boundary, int threads, void** handle, uint64_t* address, int* chunks,
        marius_cuda_error* error) {
    return guarded("pin", error, [&] {
        auto pinned = std::make_unique<PinnedMemory>(*driver, device, base, bytes, boundary, threads);
        *address = pinned->address();
        *chunks = pinned->chunks();
        *handle = pinned.release();
    });
}

int unpin(void* handle, marius_cuda_error* error) {
    return guarded("unpin", error, [&] {
        const std::unique_ptr<PinnedMemory> pinned(static_cast<PinnedMemory*>(handle));
        pinned->release();
    });
}

int copy_rows(int device, void* stream, const marius_cuda_copy_rows* args, marius_cuda_error* error) {
    return guarded("copy_rows", error, [&] {
        const CopyRows job = copy_job(*args);
        if (job.count == 0 || job.vectors == 0) return;
        const Grid grid = copy_grid(job, multiprocessors(device), args->max_sms);
        check(*driver, driver->launch(device, stream, job, grid),
              "copy_rows of " + std::to_string(args->count) + " rows of " + std::to_string(args->columns) + " columns" +
                  on(device));
    });
}

int segment_sum(int device, void* stream, const marius_cuda_segment_sum* args, marius_cuda_error* error) {
    return guarded("segment_sum", error, [&] {
        const SegmentSum job = segment_sum_job(*args);
        if (job.segments == 0 || job.vectors == 0) return;
        const Grid grid = compute_grid(job.segments, job.lane_bits, multiprocessors(device));
        check(*driver, driver->launch(device, stream, job, grid),
              "segment_sum of " + std::to_string(job.segments) + " segments of " + std::to_string(job.dim) + " columns" +
                  on(device));
    });
}

int row_step(int device, void* stream, const marius_cuda_row_step* args, marius_cuda_error* error) {
    return guarded("row_step", error, [&] {
        const RowStepJob job = row_step_job(*args);
        if (job.count == 0) return;
        const std::string what =
            "row_step of " + std::to_string(job.count) + " records of " + std::to_string(job.dim) + " columns" + on(device);
        const int sms = multiprocessors(device);
        if (has_row_pass(job)) check(*driver, driver->launch_rows(device, stream, job, compute_grid(job.count, 0, sms)), what);
        if (job.vectors > 0)
            check(*driver, driver->launch_columns(device, stream, job, compute_grid(job.count, job.lane_bits, sms)), what);
    });
}

int copy(int device, void* stream, void* target, const void* source, uint64_t bytes, marius_cuda_error* error) {
    return guarded("copy", error, [&] {
        if (bytes == 0) return;
        check(*driver, driver->copy(device, stream, target, source, bytes),
              "cudaMemcpyAsync of " + std::to_string(bytes) + " bytes" + on(device));
    });
}

template <void (*work)(const marius_cuda_host_rows&)>
void run_host_rows(void* argument) {
    const std::unique_ptr<marius_cuda_host_rows> rows(static_cast<marius_cuda_host_rows*>(argument));
    work(*rows);
}

template <void (*work)(const marius_cuda_host_rows&)>
int host_rows(const char* name, int device, void* stream, const marius_cuda_host_rows* args, marius_cuda_error* error) {
    return guarded(name, error, [&] {
        require(args->count >= 0 && args->bytes >= 0,
                std::to_string(args->count) + " records of " + std::to_string(args->bytes) + " bytes");
        if (args->count == 0 || args->bytes == 0) return;
        auto rows = std::make_unique<marius_cuda_host_rows>(*args);
        check(*driver, driver->call_host(device, stream, run_host_rows<work>, rows.get()),
              std::string(name) + " of " + std::to_string(args->count) + " records of " + std::to_string(args->bytes) +
                  " bytes, cudaLaunchHostFunc" + on(device));
        rows.release();  // run_host_rows frees it
    });
}

int host_gather(int device, void* stream, const marius_cuda_host_rows* rows, marius_cuda_error* error) {
    return host_rows<gather_records>("host_gather", device, stream, rows, error);
}

int host_scatter(int device, void* stream, const marius_cuda_host_rows* rows, marius_cuda_error* error) {
    return host_rows<scatter_records>("host_scatter", device, stream, rows, error);
}

int neighbours(int device, void* stream, int stage, const marius_cuda_neighbours* job, marius_cuda_error* error) {
    return guarded("neighbours", error, [&] {
        check_neighbours(stage, *job);
        if (job->count == 0) return;
        check(*driver, driver->launch(device, stream, stage, *job, compute_grid(job->count, 0, multiprocessors(device))),
              "stage " + std::to_string(stage) + " of neighbours over " + std::to_string(job->count) + on(device));
    });
}

int softmax_loss(int device, void* stream, const marius_cuda_softmax_loss* args, marius_cuda_error* error) {
    return guarded("softmax_loss", error, [&] {
        const SoftmaxLoss job = softmax_loss_job(*args);
        if (job.rows == 0) return;
        check(
            *driver, driver->launch(device, stream, job, compute_grid(job.rows, warp_bits, multiprocessors(device))),
            "softmax_loss of " + std::to_string(job.rows) + " rows of " + std::to_string(job.columns) + " columns" + on(device));
    });
}

}  // namespace

const marius_cuda_api* api_over(Driver& behind) {
    driver = &behind;
    static const marius_cuda_api api = {MARIUS_CUDA_VERSION, device_count, device_facts, pin,  unpin,
                                        copy_rows,           segment_sum,  row_step,     copy, host_gather,
                                        host_scatter,        neighbours,   softmax_loss};
    return &api;
}

}  // namespace marius
