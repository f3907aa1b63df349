// Finds out what a context costs, by NVML.
// SPDX-License-Identifier: MIT
#include "gpu/lease/measure.hpp"

#include <unistd.h>

#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"

namespace glint::gpu::lease {
namespace {

constexpr int nvml_success = 0;

struct Found {
    bool known = false;
    unsigned processes = 0;
    std::uint64_t ours = 0, free = 0;
};

Found ask_nvml(const std::string& uuid) {
    const Nvml& table = nvml();
    constexpr unsigned most = 256;
    cu::NvmlProcess processes[most];
    cu::NvmlDevice handle = nullptr;
    cu::NvmlMemory memory{};
    Found found;
    found.processes = most;
    found.known = table.why.empty() && table.nvmlDeviceGetComputeRunningProcesses_v3 &&
                  table.nvmlDeviceGetHandleByUUID(uuid.c_str(), &handle) == nvml_success &&
                  table.nvmlDeviceGetMemoryInfo(handle, &memory) == nvml_success &&
                  table.nvmlDeviceGetComputeRunningProcesses_v3(handle, &found.processes, processes) == nvml_success;
    if (!found.known) return found;
    found.free = memory.free;
    constexpr unsigned long long not_known = ~0ull;
    for (unsigned k = 0; k < found.processes; ++k)
        if (processes[k].pid == unsigned(::getpid()) && processes[k].used_bytes != not_known)
            found.ours = processes[k].used_bytes;
    return found;
}

}  // namespace

ContextMeasurement::ContextMeasurement(int ordinal, const std::string& uuid)
    : uuid_(uuid), was_there_(context_is_there(ordinal)) {}

std::uint64_t ContextMeasurement::context_bytes() const { return was_there_ ? 0 : ask_nvml(uuid_).ours; }

int ContextMeasurement::contexts_when_full() const {
    constexpr std::uint64_t ample = std::uint64_t(4) << 30;
    const Found found = ask_nvml(uuid_);
    const bool by_number = found.known && found.processes >= least_most_contexts && found.free >= ample;
    return by_number ? int(found.processes) : 0;
}

}  // namespace glint::gpu::lease
