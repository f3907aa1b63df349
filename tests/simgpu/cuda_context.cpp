// Primary and separate contexts: memory, time and number limits, and what remains when one is released.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <vector>

#include "api.hpp"
#include "memory.hpp"
#include "process.hpp"

namespace simgpu {
namespace {

constexpr cu::Result invalid_device = 101, device_unavailable = 46;
constexpr int prohibited = 2, exclusive_process = 3;
constexpr int max_contexts = 101;  // the 102nd failed with 90 GiB free
constexpr int max_concurrent_creations =
    28;  // measured: of 128 processes that create simultaneously, 100 fail, each after its time

/// Measured on an H200: 0.2 s alone, 0.25 s beside 16 contexts, 0.37 s beside 32, 0.82 s beside 96.
double creation_seconds(int alive) { return (0.18 + 0.0065 * alive) * server().time_scale; }

std::uint64_t context_bytes() { return parse_bytes(setting("SIMGPU_CONTEXT_BYTES", "527MiB")); }

/// Returns error 2 or 999 at random, as measured; both mean that there is no room now.
cu::Result no_room() { return random_numbers()() % 2 ? cu::out_of_memory : cu::unknown; }

/// Begins to create a context. `crowded`: the creation will fail at its end.
cu::Result begin_creation(int device, bool* crowded) {
    ServerLock locked;
    *crowded = creating_count(device) >= max_concurrent_creations;
    const Device& d = server().devices[device];
    const int alive = context_count(device);
    if (d.compute_mode == prohibited) return device_unavailable;
    const bool others = alive > int(own_use(device).contexts) || d.foreign_bytes;
    if (d.compute_mode == exclusive_process && others) return device_unavailable;
    if (alive >= setting_number("SIMGPU_CONTEXTS", max_contexts)) return cu::out_of_memory;
    if (free_bytes(device) < context_bytes()) return no_room();
    own_use(device).context_bytes += context_bytes();
    ++own_use(device).contexts, ++own_use(device).creating;
    return cu::success;
}

/// The driver creates one context at a time, so concurrent creations take correspondingly longer.
void wait_for_creation(int device) {
    constexpr double step = 0.002;
    double left = 0;
    {
        ServerLock locked;
        left = creation_seconds(context_count(device));
    }
    while (left > 0) {
        usleep(useconds_t(step * 1e6));
        ServerLock locked;
        left -= step / creating_count(device);
    }
}

/// The caller must hold a ServerLock.
void give_back(int device) {
    own_use(device).context_bytes -= context_bytes();
    --own_use(device).contexts;
}

cu::Result create(Context& context) {
    bool crowded = false;
    if (const cu::Result refused = begin_creation(context.device, &crowded)) return refused;
    wait_for_creation(context.device);
    ServerLock locked;
    --own_use(context.device).creating;
    if (!crowded) return cu::success;
    give_back(context.device);
    return cu::out_of_memory;
}

/// Pools keep their memory, as do contexts with a sticky error (measured: until the process ends).
void destroy(Context& context) {
    Process& p = process();
    synchronize_all();
    std::vector<std::uintptr_t> managed;
    for (const auto& [begin, a] : allocations())
        if (!a.pool && a.context == &context) managed.push_back(begin);
    if (!context.lost)
        for (const std::uintptr_t begin : managed) release(begin);
    p.streams.remove_of(context);
    p.events.remove_of(context);
    p.modules.remove_of(context);
    p.functions.remove_of(context);
    remove_streams_of(context);
    context.peers.clear();
    context.pending = cu::success;
    if (context.lost) return;
    ServerLock locked;
    give_back(context.device);
}

}  // namespace

namespace api {

cu::Result cuDevicePrimaryCtxRetain(cu::Context* handle, cu::Device device) {
    const int index = device_of(device);
    if (index < 0) return invalid_device;
    Context& context = process().contexts[index];
    if (context.lost) return context.lost;  // measured: also after release and retain
    if (!context.references)
        if (const cu::Result failed = create(context)) return failed;
    ++context.references;
    *handle = reinterpret_cast<cu::Context>(&context);
    return cu::success;
}

cu::Result cuDevicePrimaryCtxRelease(cu::Device device) {
    const int index = device_of(device);
    if (index < 0) return invalid_device;
    Context& context = process().contexts[index];
    if (!context.references) bug("a primary context is released more often than it was retained");
    if (--context.references == 0) destroy(context);
    return context.lost;
}

cu::Result cuDevicePrimaryCtxGetState(cu::Device device, unsigned* flags, int* active) {
    const int index = device_of(device);
    if (index < 0) return invalid_device;
    *flags = 0;
    *active = process().contexts[index].references > 0;
    return cu::success;
}

/// The context needs as much memory as a primary context, and is pushed on the thread's context stack.
cu::Result cuCtxCreate(cu::Context* handle, unsigned flags, cu::Device device) {
    const int index = device_of(device);
    if (index < 0) return invalid_device;
    if (flags != 0) bug("flags %u of a context are not simulated", flags);
    if (const cu::Result lost = process().contexts[index].lost) return lost;
    auto* context = new Context;
    context->device = index;
    context->separate = true;
    if (const cu::Result failed = create(*context)) {
        delete context;
        return failed;
    }
    context->references = 1;
    process().separate.push_back(context);
    below_current().push_back(current());
    current() = context;
    *handle = reinterpret_cast<cu::Context>(context);
    return cu::success;
}

/// Memory of pools remains, because pools belong to the device. The context is popped on this thread, and dangles on
/// other threads.
cu::Result cuCtxDestroy(cu::Context handle) {
    auto* context = reinterpret_cast<Context*>(handle);
    if (!context || !context->separate || !context->references)
        bug("a context is destroyed that is none, or was before");
    destroy(*context);
    context->references = 0;
    cu::Context popped = nullptr;
    if (current() == context) cuCtxPopCurrent(&popped);
    return context->lost;
}

cu::Result cuCtxPopCurrent(cu::Context* handle) {
    if (!current()) return cu::invalid_context;
    *handle = reinterpret_cast<cu::Context>(current());
    current() = nullptr;
    if (below_current().empty()) return cu::success;
    current() = below_current().back();
    below_current().pop_back();
    return cu::success;
}

cu::Result cuCtxSetCurrent(cu::Context handle) {
    auto* context = reinterpret_cast<Context*>(handle);
    if (context && !context->references) bug("a released context is made current");
    current() = context;
    return cu::success;
}

cu::Result cuCtxGetCurrent(cu::Context* handle) {
    *handle = reinterpret_cast<cu::Context>(current());
    return cu::success;
}

cu::Result cuCtxEnablePeerAccess(cu::Context handle, unsigned) {
    auto* peer = reinterpret_cast<Context*>(handle);
    if (!peer || !peer->references) bug("peer access to a context that does not exist");
    if (peer == current() || is_set("SIMGPU_NO_PEER")) return cu::peer_access_unsupported;
    return current()->peers.insert(peer->device).second ? cu::success : cu::peer_access_already_enabled;
}

}  // namespace api
}  // namespace simgpu
