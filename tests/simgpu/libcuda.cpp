// libcuda.so.1 of the simulated server: its exported functions, and the checks before each call.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "api.hpp"
#include "entry.hpp"
#include "process.hpp"
#include "server.hpp"
#include "settings.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace simgpu {
namespace {

/// Does the first checks of the real driver, then returns the fault planned for this call.
cu::Result before(const char* name, const Fault& fault) {
    Process& p = process();
    if (p.forked) return cu::not_initialized;
    Context* context = current();
    if (fault && fault.at_execution) {
        fail_next_operation([=]() -> cu::Result {
            if (fault.kill) kill_this_process();
            if (fault.sticky && context) lose(context->device, fault.result);
            return fault.result;
        });
    } else if (fault) {
        if (fault.sticky && context) lose(context->device, fault.result);
        return fault.result;
    }
    if (needs_init(name) && !p.initialized) return cu::not_initialized;
    if (spoils_captures(name) && capture_mode != cu::capture_mode_relaxed &&
        p.streams.any([](const Stream& stream) { return stream.capture != 0; }))
        return cu::capture_unsupported;
    if (!needs_context(name)) return cu::success;
    if (!context) return cu::invalid_context;
    if (context->lost) return context->lost;
    if (!context->references) bug("%s after the context was released", name);
    return cu::success;
}

template <auto function>
constexpr auto target = function;

}  // namespace
}  // namespace simgpu

#define TARGET(name) &simgpu::target<&simgpu::api::name>
#define BEFORE &simgpu::before
#define KEEP_LOCK true
#include "entry_table.inc"

/// Like the real driver, returns SUCCESS with a null pointer for an unknown function, and an error for a version above
/// the driver's.
EXPORTED int cuGetProcAddress_v2(const char* name, void** pointer, int version, std::uint64_t flags, int* status) {
    constexpr int found = 0, not_found = 1, version_not_sufficient = 2;
    constexpr std::uint64_t per_thread_default_stream = 2;
    *pointer = nullptr;
    const int driver_version = int(simgpu::setting_number("SIMGPU_DRIVER", 13000));
    if (version > driver_version) return glint::cu::invalid_value;
    if (flags & per_thread_default_stream) simgpu::bug("%s is asked for with per-thread default streams", name);
    const Listed* one = find_listed(name);
    if (one && version > one->version)
        simgpu::bug("%s is asked for in version %d, not in %d, whose parameters glint knows", name, version,
                    one->version);
    if (one && version == one->version) *pointer = one->entry;
    if (status) *status = *pointer ? found : one ? version_not_sufficient : not_found;
    return glint::cu::success;
}

EXPORTED int cuGetProcAddress(const char* name, void** pointer, int version, std::uint64_t flags) {
    return cuGetProcAddress_v2(name, pointer, version, flags, nullptr);
}

// Functions that only tests call, by dlsym.

/// Simulates a foreign process with this memory use and utilization of a device, visible to all processes.
EXPORTED void simgpu_set_stranger(int device, unsigned long long bytes, int utilization_percent) {
    simgpu::server();
    const simgpu::ServerLock locked;
    simgpu::Device& d = simgpu::server().devices[device];
    d.foreign_bytes = bytes;
    d.foreign_utilization = utilization_percent;
}

/// Returns the number of the current context's device, as cuCtxGetDevice does; -1 without a context. For the stand-ins
/// of libraries.
EXPORTED int simgpu_current_device() {
    const std::lock_guard lock(simgpu::driver_mutex());
    const auto& visible = simgpu::process().visible;
    if (!simgpu::current()) return -1;
    return int(std::ranges::find(visible, simgpu::current()->device) - visible.begin());
}

/// Simulates a capture of this stream into a graph, with that capture id; 0 ends the capture that it is part of.
EXPORTED void simgpu_set_capturing(void* handle, int number) {
    const std::lock_guard lock(simgpu::driver_mutex());
    simgpu::Stream& stream = simgpu::process().streams.get(handle);
    if (number)
        stream.capture = std::uint64_t(number);
    else
        simgpu::change_captures({stream.capture}, 0);
}
