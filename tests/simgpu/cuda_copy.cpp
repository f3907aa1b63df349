// Copies and fills.
//
// From pageable memory the driver copies into its own buffer before the call returns; to pageable memory it waits.
// Pinned memory is read and written when the operation runs, and the program must not change it until then. To check
// this, the source is compared with its content at the call, and the target is poisoned immediately, unless pending
// operations use the same memory.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "api.hpp"
#include "guard.hpp"
#include "memory.hpp"
#include "process.hpp"

namespace simgpu::api {
namespace {

/// One side of a copy.
struct End {
    std::uintptr_t begin;
    std::size_t bytes;
    bool on_device;
    std::uintptr_t end() const { return begin + bytes; }
};

/// Returns true if the range lies within one allocation that is not freed.
bool is_allocated(const End& side) {
    const Allocation* a = find_allocation(side.begin);
    if (a && a->freed) bug("a copy uses memory after cuMemFreeAsync");
    return a && side.end() <= a->end();
}

void note(const Stream& stream, const End& side, bool write, const char* what) {
    if (Allocation* a = find_allocation(side.begin))
        note_use(*a, stream, what, side.begin, side.end(), write);
    else if (Pinned* p = find_pinned(reinterpret_cast<void*>(side.begin)))
        p->uses.note(stream, what, side.begin, side.end(), write);
}

std::vector<char> contents(const End& side) {
    const auto* data = reinterpret_cast<const char*>(side.begin);
    return {data, data + side.bytes};
}

/// The pinned memory of a copy, from the call until it has run.
class PinnedUse {
    Pinned* memory_;
    std::list<PendingUse>::iterator pending_;
    End side_;
    std::vector<char> at_call_;  // the source at the call; empty: not known

    bool is_pending(bool writes_only) const {
        return std::any_of(memory_->pending.begin(), memory_->pending.end(), [&](const PendingUse& use) {
            return use.begin < side_.end() && side_.begin < use.end && (use.write || !writes_only);
        });
    }

  public:
    PinnedUse(const End& side, bool write) : memory_(find_pinned(reinterpret_cast<void*>(side.begin))), side_(side) {
        if (!memory_) return;
        if (write && !is_pending(false)) std::memset(reinterpret_cast<void*>(side.begin), 0xFF, side.bytes);
        if (!write && !is_pending(true)) at_call_ = contents(side);
        pending_ = memory_->pending.insert(memory_->pending.end(), {side.begin, side.end(), write});
    }
    explicit operator bool() const { return memory_ != nullptr; }

    void operation_runs(const char* what) {
        if (!memory_) return;
        if (!at_call_.empty() && std::memcmp(at_call_.data(), reinterpret_cast<void*>(side_.begin), side_.bytes) != 0)
            bug("%s: pinned memory was changed before the copy from it ran", what);
        memory_->pending.erase(pending_);
    }
};

cu::Result copy(cu::Stream handle, const End& to, const End& from, const char* what) {
    Stream& stream = process().streams.get(handle);
    if (stream.context->lost) return stream.context->lost;
    if ((to.on_device && !is_allocated(to)) || (from.on_device && !is_allocated(from))) return cu::invalid_value;
    if (to.bytes == 0) return cu::success;
    const auto host_use = std::make_shared<PinnedUse>(to.on_device ? from : to, !to.on_device);
    const bool waits = !to.on_device && !*host_use;
    auto staged = std::make_shared<std::vector<char>>();
    if (!from.on_device && !*host_use) *staged = contents(from);
    push(stream, [=] {
        host_use->operation_runs(what);
        return run_as_device([&] {
            const void* source = staged->empty() ? reinterpret_cast<void*>(from.begin) : staged->data();
            std::memcpy(reinterpret_cast<void*>(to.begin), source, to.bytes);
            return cu::success;
        });
    });
    note(stream, from, false, what);
    note(stream, to, true, what);
    if (waits) synchronize(stream);
    return stream.context->lost;
}

End device(cu::DevicePtr p, size_t bytes) { return {std::uintptr_t(p), bytes, true}; }
End host(const void* p, size_t bytes) { return {reinterpret_cast<std::uintptr_t>(p), bytes, false}; }

}  // namespace

cu::Result cuMemcpyHtoDAsync(cu::DevicePtr to, const void* from, size_t bytes, cu::Stream stream) {
    return copy(stream, device(to, bytes), host(from, bytes), "cuMemcpyHtoDAsync");
}

cu::Result cuMemcpyDtoHAsync(void* to, cu::DevicePtr from, size_t bytes, cu::Stream stream) {
    return copy(stream, host(to, bytes), device(from, bytes), "cuMemcpyDtoHAsync");
}

cu::Result cuMemcpyDtoDAsync(cu::DevicePtr to, cu::DevicePtr from, size_t bytes, cu::Stream stream) {
    return copy(stream, device(to, bytes), device(from, bytes), "cuMemcpyDtoDAsync");
}

/// SIMGPU_PEER_COPY_LOST simulates a known driver fault: such copies into a pool with peer access write nothing.
cu::Result cuMemcpyPeerAsync(cu::DevicePtr to, cu::Context, cu::DevicePtr from, cu::Context, size_t bytes,
                             cu::Stream stream) {
    const Allocation* a = find_allocation(to);
    if (a && a->pool && !a->pool->access.empty() && is_set("SIMGPU_PEER_COPY_LOST")) return cu::success;
    return copy(stream, device(to, bytes), device(from, bytes), "cuMemcpyPeerAsync");
}

cu::Result cuMemsetD8Async(cu::DevicePtr p, unsigned char value, size_t bytes, cu::Stream handle) {
    Stream& stream = process().streams.get(handle);
    const End to = device(p, bytes);
    if (!is_allocated(to)) return cu::invalid_value;
    push(stream, [=] {
        return run_as_device([&] {
            std::memset(reinterpret_cast<void*>(p), value, bytes);
            return cu::success;
        });
    });
    note(stream, to, true, "cuMemsetD8Async");
    return stream.context->lost;
}

}  // namespace simgpu::api
