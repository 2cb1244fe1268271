// The calls that the library makes to a device: to the CUDA runtime (runtime.cu) or, in tests, to the host.
#pragma once
#include <cstdint>
#include <string>

#include "cuda/api.h"
#include "cuda/launch.h"

namespace marius {

// Every call returns 0 or an error code, which text() explains. Device numbers come from the caller and may be wrong. Launches do
// not wait; they run in the order of their stream.
class Driver {
public:
    virtual ~Driver() = default;
    virtual std::string text(int code) = 0;
    virtual void clear_error() = 0;

    virtual int device_count(int* count) = 0;  // no driver, no GPU: 0
    virtual int facts(int device, marius_cuda_facts* facts) = 0;
    virtual int multiprocessors(int device, int* count) = 0;

    virtual int register_host(int device, void* base, std::uint64_t bytes) = 0;  // mapped, for every device
    virtual int unregister_host(void* base) = 0;
    virtual int device_pointer(int device, void* base, std::uint64_t* address) = 0;

    virtual int launch(int device, void* stream, const CopyRows& job, Grid grid) = 0;
    virtual int launch(int device, void* stream, const SegmentSum& job, Grid grid) = 0;
    virtual int launch_rows(int device, void* stream, const RowStepJob& job, Grid grid) = 0;     // the row pass
    virtual int launch_columns(int device, void* stream, const RowStepJob& job, Grid grid) = 0;  // the column pass
    virtual int launch(int device, void* stream, const SoftmaxLoss& job, Grid grid) = 0;
    virtual int launch(int device, void* stream, int stage, const marius_cuda_neighbours& job, Grid grid) = 0;
    virtual int copy(int device, void* stream, void* target, const void* source, std::uint64_t bytes) = 0;
    virtual int call_host(int device, void* stream, void (*function)(void*), void* argument) = 0;
};

// Returns the C interface over a driver, which must live as long as the program. A library has one driver.
const marius_cuda_api* api_over(Driver& driver);

}  // namespace marius
