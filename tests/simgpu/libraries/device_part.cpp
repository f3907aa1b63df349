// Memory and kernels of the stand-ins of NVIDIA's libraries.
// SPDX-License-Identifier: MIT
#include "device_part.hpp"

#include "image.hpp"

namespace simgpu {

cu::Result DevicePart::open(std::size_t bytes) {
    const DriverTable& d = driver();
    static auto* current_device = reinterpret_cast<int (*)()>(dlsym(d.library, "simgpu_current_device"));
    const cu::MemPoolProps props{1, 0, {cu::location_device, current_device()}, nullptr, 0, 0, {}};
    cu::Result result = d.cuStreamCreate(&own_, cu::stream_non_blocking);
    if (!result) result = d.cuMemPoolCreate(&pool_, &props);
    if (!result) result = d.cuMemAllocFromPoolAsync(&memory_, bytes, pool_, own_);
    if (!result) result = d.cuStreamSynchronize(own_);
    if (!result) result = d.cuModuleLoadData(&module_, simulated_image);
    if (result) close();
    return result;
}

void DevicePart::close() {
    const DriverTable& d = driver();
    if (module_) d.cuModuleUnload(module_);
    if (memory_) d.cuMemFreeAsync(memory_, own_);
    if (own_) d.cuStreamSynchronize(own_), d.cuStreamDestroy(own_);
    if (pool_) d.cuMemPoolDestroy(pool_);
    *this = {};
}

cu::Result DevicePart::launch(const char* kernel, long long blocks, void** parameters) {
    cu::Function& function = functions_[kernel];
    if (!function)
        if (const cu::Result failed = driver().cuModuleGetFunction(&function, module_, kernel)) return failed;
    return driver().cuLaunchKernel(function, unsigned(blocks), 1, 1, 1, 1, 1, 0, stream_ ? stream_ : own_, parameters,
                                   nullptr);
}

void hold_primary_context() {
    cu::Context now = nullptr, primary = nullptr;
    int devices = 0, active = 0;
    unsigned flags = 0;
    driver().cuCtxGetCurrent(&now);
    driver().cuDeviceGetCount(&devices);
    for (int device = 0; device < devices; ++device) {
        driver().cuDevicePrimaryCtxGetState(device, &flags, &active);
        if (!active || driver().cuDevicePrimaryCtxRetain(&primary, device)) continue;
        if (primary != now) driver().cuDevicePrimaryCtxRelease(device);
    }
}

}  // namespace simgpu
