// What stands behind a Stream.
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
    cu::Event event = nullptr;           // recorded anew whenever another stream must wait for this one
    std::atomic<std::uint64_t> uses{0};  // of buffers, so far
    std::atomic<std::uint64_t> done{0};  // uses that the host has waited for

    ContextState& home() const { return context.state(); }
    /// The number of the capture that the stream is part of, one for all streams that go into one graph; 0: of none.
    std::uint64_t capture() const;
    bool capturing() const { return capture() != 0; }
    void require_usable() const { home().require_usable("this stream"); }
    /// Throws where `what`, a wait of the host's say, would spoil a capture.
    void refuse_capture(const char* what) const;
    /// The host has waited for the first `count` uses.
    void note_done(std::uint64_t count) noexcept;
    /// The host waits; then notes what is over, and may reclaim.
    void synchronize();
    /// What is put here from now on runs behind what is in `other`.
    void wait_for(StreamState& other);
};

}  // namespace glint::gpu::detail
