// What stands behind a Buffer: where it is, and which streams used it.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "glint/gpu/buffer.hpp"
#include "gpu/stream_state.hpp"

namespace glint::gpu::detail {

/// A stream, and how many uses of buffers it had seen with this one.
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
    const std::shared_ptr<StreamState> owner;  // taken and freed in its order
    std::uint64_t address = 0;
    std::size_t bytes = 0, counted = 0;  // counted: as live

    std::mutex mutex;
    Use writer;                     // the last
    std::vector<Use> readers;       // since then, on other streams
    std::atomic<bool> busy{false};  // used by a GPU since the host last waited (managed memory)

    std::vector<std::shared_ptr<StreamState>> users() const;
};

/// Orders `stream` behind the uses so far that it must not overlap, and notes this one.
void order_use(Allocation& allocation, const Stream& stream, bool write);

}  // namespace glint::gpu::detail
