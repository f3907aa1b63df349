// Buffers: allocation, ordering of uses between streams, and deallocation.
// SPDX-License-Identifier: MIT
#include "glint/gpu/buffer.hpp"

#include <algorithm>

#include "gpu/allocation.hpp"
#include "gpu/pool.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::detail {
namespace {

const char* why_not_ordered(bool captured, bool other_captured) {
    if (captured && other_captured)
        return "that is being captured is used on a stream in another capture, and graphs do not wait for each other: "
               "capture both streams into one graph (record() an Event on the first, and wait_on() it on the second "
               "instead of beginning another capture), or end that capture and synchronize() before this one begins";
    if (captured)
        return "is used on a stream that is being captured, which cannot wait for work outside: "
               "synchronize() the other stream before the capture begins, or end the capture first";
    return "that is being captured is used outside that capture: end the capture first";
}

/// Makes `stream` wait on the device for the stream of an earlier use.
void wait_for_use(StreamState& stream, const Use& past, const ContextState& home) {
    StreamState& other = *past.stream;
    if (&other == &stream || other.home().released) return;  // released contexts have synchronized
    const std::uint64_t capture = stream.capture(), other_capture = other.capture();
    if (capture != other_capture) {
        if (other.done >= past.count) return;  // the host has synchronized with that use since
        throw GpuError(cu::capture_unsupported, text(home.label(), ": a buffer that was last used on another stream ",
                                                     why_not_ordered(capture, other_capture)));
    }
    stream.wait_for(other);
}

}  // namespace

Allocation::Allocation(const Stream& stream, Kind of_kind)
    : context(non_owning_context(stream.context().shared_state())),
      kind(of_kind),
      owner(stream.shared_state()),
      writer{owner, 0} {}

Allocation::~Allocation() {
    if (forked()) return;
    ContextState& home = context.state();
    {
        const std::lock_guard lock(home.mutex);
        if (home.resources.erase({Resource::Rank::allocation, this}) == 0)
            return;  // close() has dropped it, or it was never added
    }
    if (address && kind != Kind::borrowed) free_memory(home, {address, counted, kind, users()});
}

void Allocation::drop() noexcept {
    const Driver& driver = *context.state().driver;
    if (address && kind == Kind::pooled) driver.cuMemFreeAsync(address, owner->stream);
    if (address && (kind == Kind::adopted || kind == Kind::managed)) driver.cuMemFree(address);
    address = 0;
    busy = true;  // makes the next host access check the context, and throw because it was released
}

std::vector<std::shared_ptr<StreamState>> Allocation::users() const {
    std::vector<std::shared_ptr<StreamState>> all{owner};
    const auto add = [&](const Use& use) {
        if (std::find(all.begin(), all.end(), use.stream) == all.end()) all.push_back(use.stream);
    };
    add(writer);
    for (const Use& use : readers) add(use);
    return all;
}

std::shared_ptr<Allocation> allocate(const Stream& stream, std::size_t bytes) {
    StreamState& state = stream.state();
    state.require_usable();
    auto allocation = std::make_shared<Allocation>(stream, Kind::pooled);
    if (bytes > 0) {
        if (state.capturing())
            throw GpuError(cu::capture_unsupported,
                           state.home().label() +
                               ": memory cannot be allocated on a stream that is being captured: "
                               "allocate before the capture begins");
        allocation->address = allocate_pooled(state, bytes);
        allocation->writer.count = ++state.uses;  // a stream-ordered allocation is valid from here on in `stream` only
    }
    allocation->bytes = allocation->counted = bytes;
    state.home().add(Resource::Rank::allocation, allocation.get());
    ++state.home().counters.allocations;
    return allocation;
}

std::shared_ptr<Allocation> adopt(const Stream& stream, std::uint64_t address, std::size_t bytes, bool owned) {
    stream.state().require_usable();
    auto allocation = std::make_shared<Allocation>(stream, owned ? Kind::adopted : Kind::borrowed);
    allocation->address = address;
    allocation->bytes = bytes;
    stream.context().state().add(Resource::Rank::allocation, allocation.get());
    return allocation;
}

void order_use(Allocation& allocation, const Stream& stream, bool write) {
    const ContextState& home = allocation.context.state();
    home.require_usable("this buffer");
    stream.state().require_usable();
    const std::lock_guard lock(allocation.mutex);
    StreamState& state = stream.state();
    std::vector<Use>& readers = allocation.readers;
    if (allocation.writer.stream.get() == &state && readers.empty()) {  // the common case: used by one stream only
        allocation.writer.count = ++state.uses;
        allocation.busy = true;
        return;
    }
    const auto reader =
        std::find_if(readers.begin(), readers.end(), [&](const Use& use) { return use.stream.get() == &state; });
    if (write || reader == readers.end()) wait_for_use(state, allocation.writer, home);
    if (write)
        for (const Use& use : readers) wait_for_use(state, use, home);
    const Use use{stream.shared_state(), ++state.uses};
    allocation.busy = true;
    if (write) {
        readers.clear();
        allocation.writer = use;
    } else if (allocation.writer.stream == use.stream) {
        allocation.writer.count = use.count;  // a later writer waits for this stream anyway
    } else if (reader != readers.end()) {
        reader->count = use.count;
    } else {
        readers.push_back(use);
    }
}

std::uint64_t use(Allocation& allocation, const Stream& stream, bool write) {
    require_peer_access(allocation, stream);
    order_use(allocation, stream, write);
    return allocation.address;
}

std::size_t num_bytes(const Allocation& allocation) { return allocation.bytes; }
const Context& get_context(const Allocation& allocation) { return allocation.context; }

}  // namespace glint::gpu::detail
