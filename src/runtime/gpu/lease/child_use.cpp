// Attributes GPU memory and contexts to a child program and its descendants.
// SPDX-License-Identifier: MIT
#include "gpu/lease/child_use.hpp"

#include <algorithm>

#include "gpu/process.hpp"

namespace glint::gpu::lease {
namespace {

constexpr std::uint64_t min_change_bytes = std::uint64_t(64) << 20;  // less than any context

}  // namespace

std::uint64_t unexplained_bytes(const ObservedGpu& seen, const StateDir::Scan& scan, const SlotName& ours) {
    std::uint64_t bytes = seen.gpu.total_bytes - std::min(seen.gpu.total_bytes, seen.gpu.free_bytes);
    for (const ScannedSlot& slot : scan.slots) {
        if (!slot.alive || slot.record.state != State::holding || slot.name == ours) continue;
        for (const Share& share : slot.record.used_shares())
            if (share.gpu == seen.id) bytes -= std::min(bytes, share.held_bytes);
    }
    return bytes;
}

ChildUse use_by_child(const ObservedGpu& seen, const std::function<bool(unsigned pid)>& is_its,
                      std::uint64_t grown_bytes) {
    ChildUse use;
    bool of_this_namespace = false, known = true;
    for (const DeviceProcess& process : seen.processes) {
        of_this_namespace |= process_info(process.pid).has_value();
        if (!is_its(process.pid)) continue;
        ++use.contexts;
        use.bytes += process.used_bytes;
        known &= process.used_bytes > 0;
    }
    if ((of_this_namespace && known) || grown_bytes < min_change_bytes) return use;
    return {grown_bytes, std::max(1, use.contexts)};
}

}  // namespace glint::gpu::lease
