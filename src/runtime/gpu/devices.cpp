// The inventory of GPUs: NVML lists the GPUs of the machine, CUDA those of this process. The lists are matched by UUID.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cctype>
#include <fstream>
#include <future>
#include <system_error>

#include "glint/gpu/device.hpp"
#include "gpu/context_state.hpp"
#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"
#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace {

constexpr const char* compute_modes[] = {"default", "exclusive-thread", "prohibited", "exclusive-process"};
constexpr const char* is_split = "it is split into MIG instances: use one of its instances";
constexpr const char* is_unsplit =
    "MIG mode is on and it has no instance: an administrator can create one with `nvidia-smi mig -cgi`, or leave the "
    "mode "
    "with `nvidia-smi -mig 0`";

std::string mode_name(int mode) { return mode >= 0 && mode < 4 ? compute_modes[mode] : ""; }

/// Returns the hexadecimal digits after "GPU-" or "MIG-", the part that NVML and CUDA format in the same way.
std::string digits_of(const std::string& uuid) {
    std::string digits;
    for (std::size_t k = uuid.find('-') + 1; k < uuid.size(); ++k)
        if (std::isxdigit(static_cast<unsigned char>(uuid[k]))) digits += char(std::tolower(uuid[k]));
    return digits;
}

/// The properties that GPUs and MIG instances have in common.
Device describe_by_nvml(const Nvml& table, cu::NvmlDevice handle) {
    Device device;
    char words[128] = {};
    if (table.nvmlDeviceGetName(handle, words, sizeof words - 1) == nvml_success) device.name = words;
    if (table.nvmlDeviceGetUUID(handle, words, sizeof words - 1) == nvml_success) device.uuid = words;
    cu::NvmlMemory memory{};
    const int result = table.nvmlDeviceGetMemoryInfo(handle, &memory);
    if (result == nvml_success) device.total_bytes = memory.total, device.free_bytes = memory.free;
    if (result == nvml_gpu_is_lost) device.why_not = gpu_is_lost;
    device.processes = compute_processes(table, handle).value_or(std::vector<DeviceProcess>());
    return device;
}

void describe_board(const Nvml& table, cu::NvmlDevice handle, Device& device) {
    cu::NvmlPciInfo pci{};
    if (table.nvmlDeviceGetPciInfo_v3 && table.nvmlDeviceGetPciInfo_v3(handle, &pci) == nvml_success) {
        pci.bus_id[sizeof pci.bus_id - 1] = 0;
        device.pci_bus = pci.bus_id;
    }
    cu::NvmlUtilization utilization{};
    if (table.nvmlDeviceGetUtilizationRates &&
        table.nvmlDeviceGetUtilizationRates(handle, &utilization) == nvml_success)
        device.utilization_percent = int(utilization.gpu);
    int mode = 0;
    if (table.nvmlDeviceGetComputeMode && table.nvmlDeviceGetComputeMode(handle, &mode) == nvml_success)
        device.compute_mode = mode_name(mode);
    if (table.nvmlDeviceGetCudaComputeCapability)
        table.nvmlDeviceGetCudaComputeCapability(handle, &device.capability_major, &device.capability_minor);
    unsigned value = 0;
    if (table.nvmlDeviceGetCurrPcieLinkGeneration &&
        table.nvmlDeviceGetCurrPcieLinkGeneration(handle, &value) == nvml_success)
        device.pcie_generation = int(value);
    if (table.nvmlDeviceGetCurrPcieLinkWidth && table.nvmlDeviceGetCurrPcieLinkWidth(handle, &value) == nvml_success)
        device.pcie_width = int(value);
}

bool in_mig_mode(const Nvml& table, cu::NvmlDevice handle) {
    unsigned now = 0, pending = 0;
    return table.nvmlDeviceGetMigMode && table.nvmlDeviceGetMigMode(handle, &now, &pending) == nvml_success && now;
}

/// Returns false if NVML does not report all instances.
bool list_instances(const Nvml& table, cu::NvmlDevice handle, const Device& board, std::vector<Device>& devices) {
    unsigned max_instances = 0;
    if (!table.nvmlDeviceGetMaxMigDeviceCount || !table.nvmlDeviceGetMigDeviceHandleByIndex) return false;
    if (table.nvmlDeviceGetMaxMigDeviceCount(handle, &max_instances) != nvml_success) return false;
    bool all = true;
    for (unsigned k = 0; k < max_instances; ++k) {
        cu::NvmlDevice instance = nullptr;
        const int result = table.nvmlDeviceGetMigDeviceHandleByIndex(handle, k, &instance);
        all &= result == nvml_success || result == nvml_not_found;
        if (result != nvml_success) continue;
        Device device = describe_by_nvml(table, instance);
        if (device.uuid.empty()) {  // an instance has the PCI address of its GPU, so it cannot be identified
            all = false;
            continue;
        }
        device.mig = true;
        device.pci_bus = board.pci_bus;
        device.compute_mode = board.compute_mode;
        device.capability_major = board.capability_major, device.capability_minor = board.capability_minor;
        device.pcie_generation = board.pcie_generation, device.pcie_width = board.pcie_width;
        devices.push_back(std::move(device));
    }
    return all;
}

void list_board(const Nvml& table, cu::NvmlDevice handle, std::vector<Device>& devices) {
    Device board = describe_by_nvml(table, handle);
    describe_board(table, handle, board);
    if (!in_mig_mode(table, handle)) {
        devices.push_back(std::move(board));
        return;
    }
    std::vector<Device> instances;
    const bool all = list_instances(table, handle, board, instances);
    board.instances = int(instances.size());
    board.why_not = instances.empty() && all ? is_unsplit : is_split;
    devices.push_back(std::move(board));
    std::move(instances.begin(), instances.end(), std::back_inserter(devices));
}

void list_by_nvml(const Nvml& table, std::vector<Device>& devices) {
    unsigned count = 0;
    if (table.nvmlDeviceGetCount_v2(&count) != nvml_success) return;
    for (unsigned k = 0; k < count; ++k) {
        cu::NvmlDevice handle = nullptr;
        const int result = table.nvmlDeviceGetHandleByIndex_v2(k, &handle);
        if (result == nvml_success) list_board(table, handle, devices);
        if (result != nvml_gpu_is_lost) continue;  // other errors: not accessible to this process
        devices.push_back({});
        devices.back().name = text("NVML's GPU ", k);
        devices.back().why_not = gpu_is_lost;
    }
}

std::string uuid_text(const cu::Uuid& uuid, bool mig) {
    constexpr const char* hex = "0123456789abcdef";
    std::string words = mig ? "MIG-" : "GPU-";
    for (int k = 0; k < 16; ++k) {
        if (k == 4 || k == 6 || k == 8 || k == 10) words += '-';
        const auto byte = static_cast<unsigned char>(uuid.bytes[k]);
        words += hex[byte >> 4], words += hex[byte & 15];
    }
    return words;
}

/// A device that CUDA reports; used if NVML does not list it.
Device found_by_cuda(const Driver& table, cu::Device handle, const cu::Uuid& uuid) {
    Device device;
    char words[256] = {};
    if (table.cuDeviceGetName(words, sizeof words - 1, handle) == cu::success) device.name = words;
    device.mig = device.name.find(" MIG ") != std::string::npos;  // "NVIDIA H200 MIG 1g.18gb"
    device.uuid = uuid_text(uuid, device.mig);
    if (table.cuDeviceGetPCIBusId && table.cuDeviceGetPCIBusId(words, sizeof words - 1, handle) == cu::success)
        device.pci_bus = words;
    return device;
}

/// Compares UUIDs; if NVML reports none, PCI addresses, which NVML formats with a longer domain.
bool is_same(const Device& by_nvml, const Device& by_cuda) {
    if (!by_nvml.uuid.empty()) return digits_of(by_nvml.uuid) == digits_of(by_cuda.uuid);
    return !by_cuda.mig && !by_cuda.pci_bus.empty() && by_nvml.pci_bus.ends_with(by_cuda.pci_bus);
}

/// Adds what CUDA reports without a context; keeps the values from NVML.
void describe_by_cuda(const Driver& table, cu::Device handle, Device& device) {
    std::size_t total = 0;
    if (device.total_bytes == 0 && table.cuDeviceTotalMem(&total, handle) == cu::success) device.total_bytes = total;
    const auto ask = [&](int attribute, int& value) { table.cuDeviceGetAttribute(&value, attribute, handle); };
    ask(cu::capability_major, device.capability_major);
    ask(cu::capability_minor, device.capability_minor);
    int mode = -1, pools = 1;
    ask(cu::compute_mode, mode);
    if (device.compute_mode.empty()) device.compute_mode = mode_name(mode);
    ask(cu::memory_pools_supported, pools);
    if (!pools) device.why_not = "it has no memory pools (a virtual GPU, or an older one)";
}

void add_by_cuda(const Driver& table, std::vector<Device>& devices) {
    int count = 0;
    if (table.cuDeviceGetCount(&count) != cu::success) return;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        cu::Device handle = 0;
        cu::Uuid uuid{};
        if (table.cuDeviceGet(&handle, ordinal) != cu::success || table.cuDeviceGetUuid(&uuid, handle) != cu::success)
            continue;
        const Device found = found_by_cuda(table, handle, uuid);
        auto device = std::find_if(devices.begin(), devices.end(), [&](const Device& d) { return is_same(d, found); });
        if (device == devices.end()) device = devices.insert(device, found);
        if (device->name.empty()) device->name = found.name;
        if (device->uuid.empty()) device->uuid = found.uuid;
        if (device->pci_bus.empty()) device->pci_bus = found.pci_bus;
        device->ordinal = ordinal;
        describe_by_cuda(table, handle, *device);
        if (const std::string lost = detail::lost_reason(ordinal); !lost.empty()) device->why_not = lost;
    }
}

/// Returns the other process that occupies a GPU in exclusive mode; null: none. An MPS server does not count, as it
/// serves other processes.
const DeviceProcess* only_process(const Device& device) {
    if (device.compute_mode != "exclusive-process" || device.processes.empty()) return nullptr;
    if (context_is_there(device.ordinal)) return nullptr;
    const bool mps = mps_may_run() && std::any_of(device.processes.begin(), device.processes.end(),
                                                  [](const DeviceProcess& p) { return is_mps_server(p.pid); });
    return mps ? nullptr : &device.processes.front();
}

void say_why_not(const Driver& table, Device& device) {
    if (device.name.empty()) device.name = "unnamed GPU";
    if (!device.why_not.empty()) return;
    const std::string note = visible_devices_note();
    if (device.compute_mode == "prohibited")
        device.why_not =
            "its compute mode is \"prohibited\"; an administrator can change it with nvidia-smi -c DEFAULT";
    else if (!table.why.empty())
        device.why_not = table.why;
    else if (device.ordinal < 0 && device.mig)
        device.why_not =
            text("CUDA shows a process one MIG instance only; to get this one, set CUDA_VISIBLE_DEVICES=", device.uuid,
                 note.empty() ? "" : " (now " + note + ")");
    else if (device.ordinal < 0)
        device.why_not = note.empty() ? "CUDA does not show it to this process" : "not among " + note;
    else if (const DeviceProcess* other = only_process(device)) {
        device.occupied = true;
        device.why_not = text("its compute mode \"exclusive-process\" allows one process at a time, and process ",
                              other->pid, " is using it: wait until it ends");
    }
}

/// From NVML, else from the kernel module, else "unknown".
std::string driver_version(const Nvml& management, bool driver_found) {
    char words[96] = {};
    if (management.why.empty() && management.nvmlSystemGetDriverVersion(words, sizeof words - 1) == nvml_success)
        return words;
    std::string version;
    if (std::ifstream module("/sys/module/nvidia/version"); driver_found && module >> version) return version;
    return driver_found ? "unknown" : "";
}

/// Starts NVML and the driver in parallel on first use: each takes some time, and neither depends on the other.
void start_driver_and_nvml() {
    [[maybe_unused]] static const bool started = [] {
        try {
            const std::future<void> beside = std::async(std::launch::async, [] { nvml(); });
            driver();
        } catch (const std::system_error&) {  // no thread can be created
        }
        return true;
    }();
}

}  // namespace

Inventory inventory() {
    start_driver_and_nvml();
    const Driver& table = driver();
    const Nvml& management = nvml();
    Inventory found;
    found.cuda_version = table.version;
    found.driver_version = driver_version(management, table.version > 0);
    if (table.version > 0) found.why_no_nvml = management.why;
    if (!forked()) {
        if (management.why.empty()) list_by_nvml(management, found.devices);
        if (table.why.empty()) add_by_cuda(table, found.devices);
    }
    for (Device& device : found.devices) say_why_not(table, device);
    const auto usable = [](const Device& device) { return device.why_not.empty(); };
    if (std::any_of(found.devices.begin(), found.devices.end(), usable)) return found;
    if (!table.why.empty())
        found.why_none = table.why;
    else
        for (const Device& device : found.devices) {
            const std::string words = device.name + ": " + device.why_not;
            if (found.why_none.find(words) == std::string::npos)  // several identical GPUs: report it once
                found.why_none += (found.why_none.empty() ? "" : "; ") + words;
        }
    return found;
}

}  // namespace glint::gpu
