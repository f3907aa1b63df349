// The implementation of Stream.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "glint/gpu/stream.hpp"
#include "gpu/context_state.hpp"

namespace glint::gpu::detail {

struct StreamState : Resource {
    explicit StreamState(const Context& of) : context(non_owning_context(of.shared_state())) {}
    ~StreamState() override;
    void drop() noexcept override;

    Context context;
    cu::Stream stream = nullptr;
    cu::Event event = nullptr;           // recorded again whenever another stream must wait for this one
    std::atomic<std::uint64_t> uses{0};  // running number of buffer uses and launches
    std::atomic<std::uint64_t> done{0};  // number of uses that the host has synchronized with

    ContextState& home() const { return context.state(); }
    /// Returns the id of the capture that the stream is part of, the same for all streams of one graph; 0: not
    /// captured.
    std::uint64_t capture() const;
    bool capturing() const { return capture() != 0; }
    void require_usable() const { home().require_usable("this stream"); }
    /// Throws GpuError if the stream is being captured and `what` (a wait, for example) would invalidate the capture.
    void refuse_capture(const char* what) const;
    /// Records that the host has synchronized with the first `count` uses.
    void note_done(std::uint64_t count) noexcept;
    /// Blocks the host until the stream is idle, then updates `done` and may reclaim memory.
    void synchronize();
    /// Work enqueued in this stream from now on executes after the work that is now in `other`. Does not block the
    /// host.
    void wait_for(StreamState& other);
};

}  // namespace glint::gpu::detail
