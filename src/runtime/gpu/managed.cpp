// Managed (unified) memory: an Allocation whose pages the driver migrates.
// SPDX-License-Identifier: MIT
#include "glint/gpu/managed.hpp"

#include "gpu/allocation.hpp"
#include "gpu/pool.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::detail {
namespace {

/// On devices without concurrent managed access, the host must not access any managed memory while a kernel runs. This
/// includes kernels of other contexts, and kernels that do not use the memory.
void wait_for_all_kernels() {
    for (const Context& context : open_contexts()) {
        for (const auto& stream : context.state().all_streams())
            if (stream->done < stream->uses && !stream->capturing()) stream->synchronize();
        context.state().wait_for_retired();
    }
}

}  // namespace

std::shared_ptr<Allocation> allocate_managed(const Context& context, std::size_t bytes) {
    const Stream stream = Stream::of_thread(context);
    ContextState& home = context.state();
    for (const auto& other : home.all_streams()) other->refuse_capture("allocating managed memory");
    auto allocation = std::make_shared<Allocation>(stream, Kind::managed);
    if (bytes > 0) allocation->address = allocate_outside_pool(home, bytes, Kind::managed);
    allocation->busy = !home.concurrent_managed;
    allocation->bytes = allocation->counted = bytes;
    home.add(Resource::Rank::allocation, allocation.get());
    ++home.counters.allocations;
    return allocation;
}

bool is_managed(const Allocation& allocation) { return allocation.kind == Kind::managed; }
void* host_address(const Allocation& allocation) { return reinterpret_cast<void*>(allocation.address); }
const std::atomic<bool>& busy(const Allocation& allocation) { return allocation.busy; }

void wait_on_host(Allocation& allocation) {
    allocation.context.state().require_usable("this managed memory");
    if (!allocation.context.state().concurrent_managed) return wait_for_all_kernels();
    const std::lock_guard lock(allocation.mutex);
    std::vector<Use> uses = allocation.readers;
    uses.push_back(allocation.writer);
    for (const Use& use : uses)
        if (use.count > 0 && !use.stream->home().released) use.stream->synchronize();
    allocation.readers.clear();
    allocation.busy = false;
}

void prefetch(Allocation& allocation, const Stream& stream, bool to_host) {
    ContextState& home = stream.context().state();
    stream.state().require_usable();
    stream.state().refuse_capture("a prefetch");
    order_use(allocation, stream, false);
    if (!home.concurrent_managed || !home.driver->cuMemPrefetchAsync || allocation.bytes == 0) return;
    const Current current(home);
    const cu::Location there =
        to_host ? cu::Location{cu::location_host, 0} : cu::Location{cu::location_device, home.device};
    home.check(home.driver->cuMemPrefetchAsync(allocation.address, allocation.bytes, there, 0, stream.state().stream),
               "cuMemPrefetchAsync");
}

}  // namespace glint::gpu::detail
