// Reads the memory of this process's context, and the number of processes, from NVML; attributes memory and contexts to
// a child program and its descendants.
// SPDX-License-Identifier: MIT
#include "gpu/lease/measure.hpp"

#include <unistd.h>

#include <algorithm>

#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"
#include "gpu/process.hpp"

namespace glint::gpu::lease {
namespace {

struct Found {
    bool known = false;
    std::size_t processes = 0;
    std::uint64_t ours = 0, free = 0;
};

Found ask_nvml(const std::string& uuid) {
    const Nvml& table = nvml();
    cu::NvmlDevice handle = nullptr;
    cu::NvmlMemory memory{};
    Found found;
    if (!table.why.empty() || table.nvmlDeviceGetHandleByUUID(uuid.c_str(), &handle) != nvml_success ||
        table.nvmlDeviceGetMemoryInfo(handle, &memory) != nvml_success)
        return found;
    const auto processes = compute_processes(table, handle);
    found.known = processes.has_value();
    if (!found.known) return found;
    found.free = memory.free;
    found.processes = processes->size();
    for (const DeviceProcess& process : *processes)
        if (process.pid == unsigned(::getpid())) found.ours = process.used_bytes;
    return found;
}

constexpr std::uint64_t min_change_bytes = std::uint64_t(64) << 20;  // less than any context

}  // namespace

ContextMeasurement::ContextMeasurement(int ordinal, const std::string& uuid)
    : uuid_(uuid), was_there_(context_is_there(ordinal)) {}

std::uint64_t ContextMeasurement::context_bytes() const { return was_there_ ? 0 : ask_nvml(uuid_).ours; }

int ContextMeasurement::contexts_when_full() const {
    constexpr std::uint64_t ample = std::uint64_t(4) << 30;
    const Found found = ask_nvml(uuid_);
    const bool by_number = found.known && found.processes >= min_credible_context_limit && found.free >= ample;
    return by_number ? int(found.processes) : 0;
}

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
