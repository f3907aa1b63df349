// Uploads, downloads, copies and fills, and the choice of the transfer path.
//
// Pinned memory is copied directly and asynchronously. Pageable memory goes through Staging, because cuMemcpyAsync on
// it is slow (7 to 9 GB/s, whereas staging by 8 threads reaches 54) and its synchronization is undocumented. Copies
// between GPUs use peer access if it is verified, else two pinned halves on the host. Every path first waits on the
// device for earlier uses of both buffers (order_use), and records this use. No caller has to synchronise.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "gpu/allocation.hpp"
#include "gpu/pinned.hpp"
#include "gpu/pool.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::detail {
namespace {

/// The staging slots of the context, created on first use: most contexts copy from pinned memory only. call_once,
/// because any thread may be the first.
Staging& staging_of(ContextState& home) {
    std::call_once(home.staging_once, [&] { home.staging = std::make_unique<Staging>(home); });
    return *home.staging;
}

/// Staging waits on the host, which would invalidate the caller's capture. Throws before anything is enqueued, so that
/// the capture stays valid.
void refuse_capture(const StreamState& stream, const char* what) {
    if (stream.capturing())
        throw GpuError(cu::capture_unsupported,
                       text(stream.home().label(), ": ", what,
                            " pageable memory cannot be captured: use Pinned memory, or do it before the capture"));
}

/// Copies through pinned host memory in chunks, double buffered: while one half is written to the target, the other is
/// filled from the source. Each side uses a stream of its own GPU. Blocks until the copy is complete, because the
/// halves are freed on return.
///
/// Chunk k uses half k % 2. Two events per half order its two users: `filled` before the target reads it, `emptied`
/// before the source writes chunk k + 2 into it. The source is always one chunk ahead.
void copy_staged(Allocation& to, std::size_t to_offset, Allocation& from, std::size_t from_offset, std::size_t bytes,
                 const Stream& in_order_of) {
    const auto on = [&](const Allocation& side) {
        const bool here = &side.context.state() == &in_order_of.context().state();
        return here ? in_order_of : Stream::of_thread(side.context);
    };
    // Returns the caller's stream if it belongs to that context, so that the copy is in its order; else the thread's
    // own stream. An event cannot be recorded in a stream of another context, even if both are on one GPU.
    const Stream reading = on(from), writing = on(to);
    refuse_capture(in_order_of.state(), "a copy staged through");
    order_use(from, reading, false);
    order_use(to, writing, true);
    const std::size_t chunk = std::min(bytes, Staging::slot_bytes);
    // Registered as portable (pinned.cpp), so they are page-locked for both GPUs.
    const Pinned<std::byte> halves[2] = {Pinned<std::byte>(from.context, chunk),
                                         Pinned<std::byte>(from.context, chunk)};
    ContextState &source = from.context.state(), &target = to.context.state();
    Event filled[2] = {Event(from.context), Event(from.context)}, emptied[2] = {Event(to.context), Event(to.context)};
    const auto fetch = [&](std::size_t k) {
        if (k >= 2) emptied[k % 2].synchronize();  // the half is still the source of chunk k - 2
        const Current current(source);
        source.check(source.driver->cuMemcpyDtoHAsync(halves[k % 2].data(), from.address + from_offset + k * chunk,
                                                      std::min(chunk, bytes - k * chunk), reading.state().stream),
                     "cuMemcpyDtoHAsync");
        filled[k % 2].record(reading);
    };
    const auto deliver = [&](std::size_t k) {
        filled[k % 2].synchronize();  // by the host: events cannot order streams of contexts without peer access
        const Current current(target);
        target.check(target.driver->cuMemcpyHtoDAsync(to.address + to_offset + k * chunk, halves[k % 2].data(),
                                                      std::min(chunk, bytes - k * chunk), writing.state().stream),
                     "cuMemcpyHtoDAsync");
        emptied[k % 2].record(writing);
    };
    const std::size_t chunks = (bytes + chunk - 1) / chunk;
    try {
        fetch(0);
        for (std::size_t k = 0; k < chunks; ++k) {
            // Enqueued before deliver() blocks the host, to keep the source's link busy.
            if (k + 1 < chunks) fetch(k + 1);
            deliver(k);
        }
        writing.synchronize();
    } catch (...) {
        // Copies in flight still use the halves: wait before they are freed.
        for (const Stream& stream : {reading, writing}) {
            // Errors are ignored here; the original error is thrown.
            const Current current(stream.context().state(), std::nothrow);
            source.driver->cuStreamSynchronize(stream.state().stream);
        }
        throw;
    }
}

/// Copies asynchronously, on `stream`, which may belong to either GPU. Only for pairs that peer_access() has verified:
/// on some GPUs a peer copy into a pool reports success and writes nothing.
void copy_from_peer(Allocation& to, std::size_t to_offset, Allocation& from, std::size_t from_offset, std::size_t bytes,
                    const Stream& stream) {
    order_use(from, stream, false);
    order_use(to, stream, true);
    ContextState& here = stream.context().state();
    const Current current(here);
    here.check(
        here.driver->cuMemcpyPeerAsync(to.address + to_offset, to.context.state().context, from.address + from_offset,
                                       from.context.state().context, bytes, stream.state().stream),
        "cuMemcpyPeerAsync");
}

}  // namespace

// From pinned memory this returns immediately, and the caller keeps `from` until the copy is done; from pageable memory
// it returns when `from` has been read.
void upload(const Stream& stream, Allocation& to, std::size_t offset, const void* from, std::size_t bytes) {
    const cu::DevicePtr target = use(to, stream, true) + offset;
    if (bytes == 0) return;
    ContextState& home = stream.context().state();
    const Current current(home);
    if (is_pinned(home, from, bytes)) {
        home.check(home.driver->cuMemcpyHtoDAsync(target, from, bytes, stream.state().stream), "cuMemcpyHtoDAsync");
        return;
    }
    refuse_capture(stream.state(), "an upload from");
    staging_of(home).upload(stream.state(), target, static_cast<const std::byte*>(from), bytes);
}

// To pageable memory this blocks until `to` is complete. The host has then synchronised with the stream's work up to
// here, which is recorded for uses by streams that are captured later, and memory may be reclaimed.
void download(const Stream& stream, void* to, Allocation& from, std::size_t offset, std::size_t bytes) {
    const cu::DevicePtr source = use(from, stream, false) + offset;
    if (bytes == 0) return;
    ContextState& home = stream.context().state();
    const Current current(home);
    if (is_pinned(home, to, bytes)) {
        home.check(home.driver->cuMemcpyDtoHAsync(to, source, bytes, stream.state().stream), "cuMemcpyDtoHAsync");
        return;
    }
    refuse_capture(stream.state(), "a download to");
    ++home.counters.host_blocks;
    const std::uint64_t begun = stream.state().uses;  // these uses are done when the download returns
    staging_of(home).download(stream.state(), static_cast<std::byte*>(to), source, bytes);
    stream.state().note_done(begun);
    at_synchronization(home);
}

// Chooses among three ways: a copy within one GPU (managed memory counts as being everywhere), from peer to peer, and
// through the host.
void copy(const Stream& stream, Allocation& to, std::size_t to_offset, Allocation& from, std::size_t from_offset,
          std::size_t bytes) {
    ContextState &source = from.context.state(), &target = to.context.state(), &here = stream.context().state();
    source.require_usable("this buffer");
    target.require_usable("this buffer");
    stream.state().require_usable();
    if (bytes == 0) return;
    if (&to == &from && to_offset < from_offset + bytes && from_offset < to_offset + bytes)
        throw OptionError("a copy of a part of a buffer onto itself: the two parts overlap");
    const bool managed = from.kind == Kind::managed || to.kind == Kind::managed;  // accessible from every GPU
    // PeerAccess::untested (no room for the test) counts as no access: the copy then goes through the host, which is
    // slower but correct.
    const auto reaches = [](ContextState& one, const Allocation& memory) {
        return memory.kind == Kind::managed || peer_access(one, memory.context.state()) == PeerAccess::yes;
    };
    // Both sides must be accessible from the stream's GPU; for a peer copy also the source from the target's GPU.
    if (!reaches(here, from) || !reaches(here, to) || (!managed && !reaches(target, from)))
        return copy_staged(to, to_offset, from, from_offset, bytes, stream);
    if (!managed && source.ordinal != target.ordinal)
        return copy_from_peer(to, to_offset, from, from_offset, bytes, stream);
    order_use(from, stream, false);
    order_use(to, stream, true);
    const Current current(here);
    // Contexts of one GPU share its addresses, so no peer copy is needed between them.
    here.check(here.driver->cuMemcpyDtoDAsync(to.address + to_offset, from.address + from_offset, bytes,
                                              stream.state().stream),
               "cuMemcpyDtoDAsync");
}

void fill(const Stream& stream, Allocation& to, std::size_t offset, unsigned char value, std::size_t bytes) {
    const cu::DevicePtr target = use(to, stream, true) + offset;
    if (bytes == 0) return;
    ContextState& home = stream.context().state();
    const Current current(home);
    home.check(home.driver->cuMemsetD8Async(target, value, bytes, stream.state().stream), "cuMemsetD8Async");
}

}  // namespace glint::gpu::detail
