// The implementation of Buffer: one allocation, and the streams that used it.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "glint/gpu/buffer.hpp"
#include "gpu/stream_state.hpp"

namespace glint::gpu::detail {

/// A use of an allocation by a stream; `count` is the stream's running number of uses, this one included.
struct Use {
    std::shared_ptr<StreamState> stream;
    std::uint64_t count = 0;
};

struct Allocation : Resource {
    Allocation(const Stream& stream, Kind of_kind);
    ~Allocation() override;
    void drop() noexcept override;

    Context context;
    const Kind kind;
    const std::shared_ptr<StreamState> owner;  // allocated and freed in the order of this stream
    std::uint64_t address = 0;
    std::size_t bytes = 0, counted = 0;  // counted: in Counters::live

    std::mutex mutex;          // guards the uses
    Use writer;                // the last one
    std::vector<Use> readers;  // since the last write, on other streams
    std::atomic<bool> busy{
        false};  // managed memory that a GPU has used, or may forbid, since the host last synchronized

    std::vector<std::shared_ptr<StreamState>> users() const;
};

/// Makes `stream` wait for earlier uses that conflict with this use, and records this use.
void order_use(Allocation& allocation, const Stream& stream, bool write);

/// Peer access between GPUs, verified by a test copy for each pair of contexts.
enum class PeerAccess { no, yes, untested };

/// Whether the GPU of `from` can access the memory of `home`. The first call enables and tests it, which takes some ms;
/// `untested` as long as there is no memory for the test. Throws DeviceLost.
PeerAccess peer_access(ContextState& from, ContextState& home);

/// Throws if a kernel on `stream` cannot access the memory: a GpuError that names both GPUs, or OutOfMemory if
/// access could not be tested.
void require_peer_access(const Allocation& allocation, const Stream& stream);

}  // namespace glint::gpu::detail
