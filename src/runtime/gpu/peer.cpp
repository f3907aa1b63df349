// Enables and verifies peer access. With some drivers a peer copy into a pool reports success and writes nothing, so a
// test pattern is copied both ways before a pair of contexts is used.
// SPDX-License-Identifier: MIT
#include "gpu/allocation.hpp"

#include <algorithm>
#include <vector>

#include "gpu/text.hpp"

namespace glint::gpu::detail {
namespace {

/// Returns false for an error that only means that the pair cannot be used. Throws for a sticky error.
bool succeeded(const ContextState& home, cu::Result result) {
    if (is_sticky(result)) home.check(result, "testing a copy between two GPUs");
    return result == cu::success;
}

/// Memory and a stream for the test; the destructor releases them.
struct PeerTest {
    ContextState& home;
    cu::Stream stream = nullptr;
    cu::DevicePtr memory = 0;  // null: out of memory

    PeerTest(ContextState& of, std::size_t bytes) : home(of) {
        const Current current(home);
        home.check(home.driver->cuStreamCreate(&stream, cu::stream_non_blocking), "cuStreamCreate");
        if (home.driver->cuMemAllocFromPoolAsync(&memory, bytes, home.pool, stream) != cu::success) memory = 0;
    }
    ~PeerTest() {
        const Current current(home, std::nothrow);
        if (memory) home.driver->cuMemFreeAsync(memory, stream);
        home.driver->cuStreamSynchronize(stream);
        home.driver->cuStreamDestroy(stream);
    }
    PeerTest(const PeerTest&) = delete;
    PeerTest& operator=(const PeerTest&) = delete;

    bool completes(cu::Result queued) const {
        return succeeded(home, queued) && succeeded(home, home.driver->cuStreamSynchronize(stream));
    }
    bool write(const std::vector<unsigned>& values) const {
        const Current current(home);
        return completes(home.driver->cuMemcpyHtoDAsync(memory, values.data(), 4 * values.size(), stream));
    }
    bool holds(const std::vector<unsigned>& values) const {
        std::vector<unsigned> found(values.size());
        const Current current(home);
        return completes(home.driver->cuMemcpyDtoHAsync(found.data(), memory, 4 * found.size(), stream)) &&
               found == values;
    }
    bool copy_from(const PeerTest& other, std::size_t bytes) const {
        const Current current(home);
        return completes(
            home.driver->cuMemcpyPeerAsync(memory, home.context, other.memory, other.home.context, bytes, stream));
    }
};

PeerAccess test_peer_copies(ContextState& a, ContextState& b) {
    std::vector<unsigned> pattern(16384), blank(pattern.size(), 0);
    for (std::size_t k = 0; k < pattern.size(); ++k) pattern[k] = unsigned(k) * 2654435761u + 1;
    const std::size_t bytes = 4 * pattern.size();
    const PeerTest first(a, bytes), second(b, bytes);
    if (!first.memory || !second.memory) return PeerAccess::untested;
    const bool both_ways = first.write(pattern) && second.write(blank) && second.copy_from(first, bytes) &&
                           second.holds(pattern) && first.write(blank) && first.copy_from(second, bytes) &&
                           first.holds(pattern);
    return both_ways ? PeerAccess::yes : PeerAccess::no;
}

bool enable_peer_access(ContextState& from, ContextState& home) {
    const Driver& driver = *home.driver;
    int possible = 0;
    if (!succeeded(home, driver.cuDeviceCanAccessPeer(&possible, from.device, home.device)) || !possible) return false;
    constexpr int read_and_write = 3;
    const cu::MemAccess access{{cu::location_device, from.device}, read_and_write};
    if (!succeeded(home, driver.cuMemPoolSetAccess(home.pool, &access, 1))) return false;
    const Current current(from);  // for memory outside the pool
    const cu::Result result = driver.cuCtxEnablePeerAccess(home.context, 0);
    return succeeded(from, result) || result == cu::peer_access_already_enabled;
}

}  // namespace

PeerAccess peer_access(ContextState& from, ContextState& home) {
    if (from.ordinal == home.ordinal) return PeerAccess::yes;
    {
        const std::lock_guard lock(home.peer_mutex);
        const auto known = home.peers.find(from.serial);
        if (known != home.peers.end()) return known->second ? PeerAccess::yes : PeerAccess::no;
    }
    // Not locked during the test: two threads may run it at the same time, with the same result.
    const PeerAccess found = enable_peer_access(from, home) && enable_peer_access(home, from)
                                 ? test_peer_copies(home, from)
                                 : PeerAccess::no;
    if (found == PeerAccess::untested) return found;
    {
        const std::lock_guard lock(home.peer_mutex);
        home.peers[from.serial] = found == PeerAccess::yes;
    }
    home.say(
        text(from.label(), found == PeerAccess::yes ? " reaches" : " does not reach", " the memory of ", home.label()));
    return found;
}

void require_peer_access(const Allocation& allocation, const Stream& stream) {
    ContextState& home = allocation.context.state();
    ContextState& from = stream.context().state();
    if (from.ordinal == home.ordinal || allocation.kind == Kind::managed) return;
    home.require_usable("this buffer");
    from.require_usable("this stream");
    const PeerAccess found = peer_access(from, home);
    if (found == PeerAccess::yes) return;
    if (found == PeerAccess::untested)
        throw OutOfMemory(cu::out_of_memory,
                          text("there is no room on ", home.label(), " or ", from.label(),
                               " for the 64 KiB with which glint tests peer access between the two: free buffers"),
                          64 << 10);
    throw GpuError(cu::peer_access_unsupported, text("this buffer is on ", home.label(), ", and ", from.label(),
                                                     " cannot reach its memory: work on a stream of GPU ", home.ordinal,
                                                     ", or copy() it into a buffer of GPU ", from.ordinal));
}

}  // namespace glint::gpu::detail
