// Reads the memory of this process's context, and the number of processes, from NVML.
// SPDX-License-Identifier: MIT
#include "gpu/lease/measure.hpp"

#include <unistd.h>

#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"

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

}  // namespace glint::gpu::lease
