// The driver that calls the CUDA runtime, and the library's only exported function.
#include <cuda_runtime.h>

#include <cstdio>

#include "cuda/api.h"
#include "cuda/driver.h"
#include "cuda/kernels.h"

namespace marius {
namespace {

// Makes a device the current one for a scope, and restores the one before, because other libraries rely on it.
class CurrentDevice {
public:
    explicit CurrentDevice(int device) {
        failed_ = cudaGetDevice(&before_);
        if (failed_ == cudaSuccess && before_ != device) {
            failed_ = cudaSetDevice(device);
            changed_ = failed_ == cudaSuccess;
        }
    }
    ~CurrentDevice() {
        if (changed_) cudaSetDevice(before_);
    }
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;

    // Makes a call on the device. Returns its code, or the code that says why the device could not be made current.
    template <class Call>
    int run(Call call) const {
        return failed_ != cudaSuccess ? static_cast<int>(failed_) : static_cast<int>(call());
    }

private:
    cudaError_t failed_;
    int before_ = 0;
    bool changed_ = false;
};

class CudaDriver final : public Driver {
public:
    std::string text(int code) override { return cudaGetErrorString(static_cast<cudaError_t>(code)); }
    void clear_error() override { cudaGetLastError(); }

    int device_count(int* count) override {
        *count = 0;
        const cudaError_t code = cudaGetDeviceCount(count);
        if (code == cudaSuccess) return 0;
        *count = 0;
        int installed = 0;
        const bool driver = cudaDriverGetVersion(&installed) == cudaSuccess && installed > 0;
        cudaGetLastError();
        const bool none = code == cudaErrorNoDevice || (code == cudaErrorInsufficientDriver && !driver);
        return none ? 0 : static_cast<int>(code);
    }

    int facts(int device, marius_cuda_facts* facts) override {
        cudaDeviceProp properties;
        if (const int code = cudaGetDeviceProperties(&properties, device)) return code;
        std::snprintf(facts->name, sizeof facts->name, "%s", properties.name);
        facts->major = properties.major;
        facts->minor = properties.minor;
        facts->multiprocessors = properties.multiProcessorCount;
        facts->can_map_host_memory = properties.canMapHostMemory;
        facts->memory = properties.totalGlobalMem;
        if (const int code = cudaDeviceGetPCIBusId(facts->pci_bus_id, sizeof facts->pci_bus_id, device)) return code;
        if (const int code = cudaDriverGetVersion(&facts->driver_version)) return code;
        return cudaRuntimeGetVersion(&facts->runtime_version);
    }

    int multiprocessors(int device, int* count) override {
        return cudaDeviceGetAttribute(count, cudaDevAttrMultiProcessorCount, device);
    }

    int register_host(int device, void* base, std::uint64_t bytes) override {
        return CurrentDevice(device).run(
            [&] { return cudaHostRegister(base, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable); });
    }

    int unregister_host(void* base) override { return cudaHostUnregister(base); }

    int device_pointer(int device, void* base, std::uint64_t* address) override {
        void* pointer = nullptr;
        const int code = CurrentDevice(device).run([&] { return cudaHostGetDevicePointer(&pointer, base, 0); });
        *address = address_of(pointer);
        return code;
    }

    int launch(int device, void* stream, const CopyRows& job, Grid grid) override {
        return CurrentDevice(device).run([&] { return launch_copy_rows(stream, job, grid); });
    }
    int launch(int device, void* stream, const SegmentSum& job, Grid grid) override {
        return CurrentDevice(device).run([&] { return launch_segment_sum(stream, job, grid); });
    }
    int launch_rows(int device, void* stream, const RowStepJob& job, Grid grid) override {
        return CurrentDevice(device).run([&] { return launch_step_rows(stream, job, grid); });
    }
    int launch_columns(int device, void* stream, const RowStepJob& job, Grid grid) override {
        return CurrentDevice(device).run([&] { return launch_step_columns(stream, job, grid); });
    }

    int launch(int device, void* stream, const SoftmaxLoss& job, Grid grid) override {
        return CurrentDevice(device).run([&] { return launch_softmax_loss(stream, job, grid); });
    }

    int launch(int device, void* stream, int stage, const marius_cuda_neighbours& job, Grid grid) override {
        return CurrentDevice(device).run([&] { return launch_neighbours(stream, stage, job, grid); });
    }

    int copy(int device, void* stream, void* target, const void* source, std::uint64_t bytes) override {
        return CurrentDevice(device).run(
            [&] { return cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream)); });
    }

    int call_host(int device, void* stream, void (*function)(void*), void* argument) override {
        return CurrentDevice(device).run(
            [&] { return cudaLaunchHostFunc(static_cast<cudaStream_t>(stream), function, argument); });
    }
};

}  // namespace
}  // namespace marius

extern "C" __attribute__((visibility("default"))) const marius_cuda_api* marius_cuda(void) {
    static marius::CudaDriver& driver = *new marius::CudaDriver;  // streams may call back until the program ends
    return marius::api_over(driver);
}
