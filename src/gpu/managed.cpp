// Unified memory: an Allocation whose pages the driver moves.
// SPDX-License-Identifier: MIT
#include "glint/gpu/managed.hpp"

#include "gpu/allocation.hpp"
#include "gpu/pool.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::detail {
namespace {

/// The driver gives more than there is and may hang when it is used, so glint counts.
void require_room(ContextState& home, std::size_t bytes) {
    constexpr const char* advice = "managed memory beyond that can hang a GPU; work in smaller pieces";
    if (bytes > free_on_device(home)) trim(home);
    if (bytes > free_on_device(home) || !count_live(home, bytes)) throw_out_of_memory(home, bytes, advice);
    if (home.counters.live <= home.free_at_start) return;
    uncount_live(home, bytes);
    throw_out_of_memory(home, bytes, advice);
}

cu::DevicePtr take_managed(ContextState& home, std::size_t bytes) {
    require_room(home, bytes);
    const Current current(home);
    cu::DevicePtr address = 0;
    const cu::Result result = home.driver->cuMemAllocManaged(&address, bytes, cu::attach_global);
    if (result == cu::success) return address;
    uncount_live(home, bytes);
    if (result == cu::out_of_memory) throw_out_of_memory(home, bytes, "free buffers, or wait for other processes");
    home.check(result, "cuMemAllocManaged");
    return 0;
}

/// Some devices forbid the host to touch managed memory while anything runs on them.
void wait_for(StreamState& user) {
    if (user.capturing())
        throw GpuError(cu::capture_unsupported,
                       user.home().label() +
                           ": managed memory that is used on a stream being captured cannot be read "
                           "by the host: end the capture first");
    user.synchronize();
    if (user.home().concurrent_managed) return;
    for (const auto& stream : user.home().all_streams())
        if (!stream->capturing()) stream->synchronize();
}

}  // namespace

std::shared_ptr<Allocation> allocate_managed(const Context& context, std::size_t bytes) {
    const Stream stream = Stream::of_thread(context);
    ContextState& home = context.state();
    auto allocation = std::make_shared<Allocation>(stream, Kind::managed);
    if (bytes > 0) allocation->address = take_managed(home, bytes);
    allocation->bytes = allocation->counted = bytes;
    home.add(Resource::Rank::allocation, allocation.get());
    ++home.counters.allocations;
    return allocation;
}

void* host_address(const Allocation& allocation) { return reinterpret_cast<void*>(allocation.address); }
const std::atomic<bool>& busy(const Allocation& allocation) { return allocation.busy; }

void wait_on_host(Allocation& allocation) {
    allocation.context.state().require_usable("this managed memory");
    const std::lock_guard lock(allocation.mutex);
    std::vector<Use> uses = allocation.readers;
    uses.push_back(allocation.writer);
    for (const Use& use : uses)
        if (use.count > 0 && !use.stream->home().released) wait_for(*use.stream);
    allocation.readers.clear();
    allocation.busy = false;
}

void prefetch(Allocation& allocation, const Stream& stream, bool to_host) {
    ContextState& home = stream.context().state();
    order(allocation, stream, false);
    if (!home.concurrent_managed || !home.driver->cuMemPrefetchAsync || allocation.bytes == 0) return;
    const Current current(home);
    const cu::Location there =
        to_host ? cu::Location{cu::location_host, 0} : cu::Location{cu::location_device, home.device};
    home.check(home.driver->cuMemPrefetchAsync(allocation.address, allocation.bytes, there, 0, stream.state().stream),
               "cuMemPrefetchAsync");
}

}  // namespace glint::gpu::detail
