// A libcuda.so.1 that forwards every call to the real one, named by SIMGPU_REAL_DRIVER, and injects the faults of
// SIMGPU_FAULT, to test failures on a real GPU. A fault at execution (~) happens at the call: the shim cannot observe
// execution.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <cstring>

#include "api.hpp"
#include "entry.hpp"
#include "settings.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace simgpu {
namespace {

/// The real functions, found one by one when glint requests them.
namespace real {
#define X(name, version, required, parameters) cu::Result(*name) parameters = nullptr;
#include "gpu/driver_list.inc"
#undef X
}  // namespace real

/// After a sticky fault everything that needs a context fails, as if the GPU were lost.
cu::Result before(const char* name, const Fault& fault) {
    static cu::Result lost = cu::success;
    if (fault.kill) kill_this_process();
    if (fault && fault.sticky) lost = fault.result;
    if (fault) return fault.result;
    return lost && (needs_context(name) || std::strcmp(name, "cuDevicePrimaryCtxRetain") == 0) ? lost : cu::success;
}

void** real_slot(std::string_view name) {
#define X(listed, version, required, parameters) \
    if (name == #listed) return reinterpret_cast<void**>(&real::listed);
#include "gpu/driver_list.inc"
#undef X
    return nullptr;
}

void* real_driver() {
    static void* driver = [] {
        const std::string path = setting("SIMGPU_REAL_DRIVER");
        if (path.empty()) broken("SIMGPU_REAL_DRIVER does not name the real libcuda.so.1");
        void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) broken("SIMGPU_REAL_DRIVER: %s", dlerror());
        return handle;
    }();
    return driver;
}

/// Stores the real function, and returns its wrapper.
void put_in_front(const char* name, void** pointer, void* entry) {
    if (!*pointer || !entry) return;
    *real_slot(name) = *pointer;
    *pointer = entry;
}

}  // namespace
}  // namespace simgpu

#define TARGET(name) &simgpu::real::name
#define BEFORE &simgpu::before
#define KEEP_LOCK false
#include "entry_table.inc"

EXPORTED int cuGetProcAddress_v2(const char* name, void** pointer, int version, std::uint64_t flags, int* status) {
    using Function = int(const char*, void**, int, std::uint64_t, int*);
    auto* real = reinterpret_cast<Function*>(dlsym(simgpu::real_driver(), "cuGetProcAddress_v2"));
    if (!real) return glint::cu::not_found;
    const int result = real(name, pointer, version, flags, status);
    const Listed* one = find_listed(name);
    if (result == glint::cu::success) simgpu::put_in_front(name, pointer, one ? one->entry : nullptr);
    return result;
}

EXPORTED int cuGetProcAddress(const char* name, void** pointer, int version, std::uint64_t flags) {
    return cuGetProcAddress_v2(name, pointer, version, flags, nullptr);
}
