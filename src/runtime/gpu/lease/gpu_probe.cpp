// The NVML implementation of GpuProbe.
//
// GPUs are found by UUID, never by number: NVML counts all GPUs of the machine by PCI address, CUDA those of
// CUDA_VISIBLE_DEVICES in its own order, and MIG instances have no NVML number of a GPU. Values that NVML does not
// support on a device (utilization of an instance, processes in a container) stay "unknown", and the policy does
// without them.
// SPDX-License-Identifier: MIT
#include "gpu/lease/gpu_probe.hpp"

#include <algorithm>
#include <cstdlib>

#include "gpu/advice.hpp"
#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"
#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

// nvmlComputeMode_t. The value 1, exclusive thread, is obsolete and treated as shared.
constexpr int nvml_prohibited = 2, nvml_exclusive_process = 3;
// Used until a process of this user has measured the size. Deliberately large: a lease without enough memory for its
// context is worse than a lease that is granted a little later.
constexpr std::uint64_t default_context_bytes = std::uint64_t(600) << 20;  // 527 MiB on an H200
// NVIDIA's limit of clients of one MPS server and GPU.
constexpr int max_mps_clients = 48;

ComputeMode mode_of(const std::string& words) {
    if (words == "prohibited") return ComputeMode::prohibited;
    return words == "exclusive-process" ? ComputeMode::exclusive_process : ComputeMode::shared;
}

/// FNV-1a. Records have a fixed size, so they contain a number instead of the version string.
std::uint32_t hash_version(const std::string& words) {
    std::uint32_t sum = 2166136261u;
    for (const char c : words) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619u;
    return sum;
}

/// CUDA shows a process only one MIG instance. A child can use another instance, if CUDA_VISIBLE_DEVICES names it.
///
/// For `glint lease -- CMD`: this process needs no context, so GPUs that only the child will see are eligible.
bool usable_by_child(const Device& device) {
    if (device.why_not.empty() || device.occupied) return true;
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return device.mig && device.ordinal < 0 && driver().why.empty() && device.compute_mode != "prohibited" &&
           (!visible || std::string(visible).find(device.uuid) != std::string::npos);
}

/// Returns the users of the processes. If NVML may not list them (in a container), memory in use reveals that.
std::optional<std::set<std::uint32_t>> find_users(const ObservedGpu& seen) {
    constexpr std::uint64_t of_the_driver = std::uint64_t(2) << 30;  // maximum on an empty GPU
    const std::uint64_t used = seen.gpu.total_bytes - std::min(seen.gpu.total_bytes, seen.gpu.free_bytes);
    if (!in_first_pid_namespace() || (seen.processes.empty() && used > of_the_driver)) return {};
    std::set<std::uint32_t> users;
    for (const DeviceProcess& process : seen.processes) {
        const auto owner = owner_of(process.pid);
        if (!owner) return {};  // hidden, or just ended
        users.insert(*owner);
    }
    return users;
}

/// Records the processes with a context, and whether one is the MPS server. mps_may_run() checks for a directory, which
/// is cheaper than /proc; it comes first, as nearly no machine runs MPS. In a container the list may be empty or have
/// foreign PIDs.
void note_processes(const Nvml& table, cu::NvmlDevice handle, ObservedGpu& seen) {
    const auto listed = compute_processes(table, handle);
    seen.processes = listed.value_or(std::vector<DeviceProcess>());
    seen.gpu.processes = int(seen.processes.size());
    seen.gpu.mps = !seen.processes.empty() && mps_may_run() &&
                   std::any_of(seen.processes.begin(), seen.processes.end(),
                               [](const DeviceProcess& process) { return is_mps_server(process.pid); });
    seen.percent_by_process.reset();
    if (seen.processes.size() > 1 && seen.gpu.utilization_percent > Rules().foreign_utilization_percent &&
        !seen.gpu.mps && in_first_pid_namespace())
        seen.percent_by_process = utilization_by_process(table, handle);
    seen.users = listed && !seen.gpu.mps ? find_users(seen) : std::nullopt;  // MPS hides its clients
}

/// Returns true if NVML never reports free memory here, as opposed to a failure.
bool has_no_memory_info(int result) {
    return result == nvml_not_supported || result == nvml_no_permission || result == nvml_not_found ||
           result == nvml_function_not_found;
}

/// Updates what changes: memory, utilization, compute mode, processes. The handle is looked up at each call: that is
/// cheap, and a reset of the GPU would invalidate a stored handle.
void refresh(const Nvml& table, ObservedGpu& seen) {
    Gpu& gpu = seen.gpu;
    cu::NvmlDevice handle = nullptr;
    cu::NvmlMemory memory{};
    int result = nvml_function_not_found;
    if (table.why.empty()) result = table.nvmlDeviceGetHandleByUUID(gpu.uuid.c_str(), &handle);
    if (table.why.empty() && result == nvml_success) result = table.nvmlDeviceGetMemoryInfo(handle, &memory);
    seen.free_known = result == nvml_success;
    seen.lost = result == nvml_gpu_is_lost;
    seen.nvml_why.clear();
    if (!seen.free_known) {
        seen.users.reset();
        // The values of the last successful call stay. Before the first one, 0 bytes are free: otherwise, a GPU that
        // fails would look like an empty GPU and be preferred. make_queue() subtracts the bytes that leases hold.
        if (has_no_memory_info(result)) {
            if (!seen.free_was_known) gpu.free_bytes = gpu.total_bytes;
            return;
        }
        const Advice* advice = nvml_advice(result);
        seen.nvml_why =
            seen.lost
                ? gpu_is_lost
                : text("NVML does not report how much memory is free on it: ", advice ? advice->meaning : "an error",
                       " (", result, ")", advice ? text(": ", advice->remedy) : "");
        return;
    }
    seen.free_was_known = true;
    // NVML's total, not CUDA's, so that total - free is the memory in use on the same scale.
    gpu.total_bytes = memory.total, gpu.free_bytes = memory.free;
    cu::NvmlUtilization utilization{};
    const bool measured = table.nvmlDeviceGetUtilizationRates &&
                          table.nvmlDeviceGetUtilizationRates(handle, &utilization) == nvml_success;
    // -1 if it is not supported (MIG): the contention rule then never finds the GPU busy.
    gpu.utilization_percent = measured ? int(utilization.gpu) : -1;
    int mode = 0;  // queried each time, as an administrator may change it
    if (table.nvmlDeviceGetComputeMode && table.nvmlDeviceGetComputeMode(handle, &mode) == nvml_success)
        gpu.mode = mode == nvml_prohibited          ? ComputeMode::prohibited
                   : mode == nvml_exclusive_process ? ComputeMode::exclusive_process
                                                    : ComputeMode::shared;
    note_processes(table, handle, seen);
    // Set at each query, because an administrator may start or stop MPS while this process waits.
    gpu.max_contexts = gpu.mps ? max_mps_clients : Gpu().max_contexts;
}

/// Reads names, UUIDs and sizes, which do not change while the process lives. The order is that of the inventory, to
/// which indices in GpuSet refer.
Observation first_observation() {
    const Inventory found = inventory();
    Observation observation;
    observation.why_none = found.why_none;
    observation.driver = hash_version(found.driver_version);
    for (const Device& device : found.devices) {
        const auto id = gpu_id(device.uuid);
        if (!id || device.instances > 0 || observation.gpus.size() == max_gpus) continue;
        ObservedGpu seen;
        seen.id = *id;
        seen.name = device.name;
        seen.ordinal = device.ordinal;
        // An exclusive GPU in use by another process may become free; other reasons (prohibited, lost) are permanent.
        seen.usable = device.why_not.empty() || device.occupied;
        seen.usable_by_child = usable_by_child(device);
        seen.gpu.uuid = device.uuid;
        seen.gpu.total_bytes = device.total_bytes;
        seen.gpu.mode = mode_of(device.compute_mode);
        seen.gpu.context_bytes = default_context_bytes;
        observation.gpus.push_back(std::move(seen));
    }
    return observation;
}

}  // namespace

// inventory() is not called again: it also queries CUDA, and cuInit alone may take 0.2 s.
Observation NvmlProbe::observe() {
    if (!initialized_) last_ = first_observation();
    initialized_ = true;
    for (ObservedGpu& seen : last_.gpus) refresh(nvml(), seen);
    return last_;
}

}  // namespace glint::gpu::lease
