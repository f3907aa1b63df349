// `glint devices`: lists the GPUs, why one cannot be used, and the abilities of the CPU.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/print.hpp"
#include "glint/gpu/device.hpp"
#include "glint/offload/backends.hpp"

namespace glint::cli {
namespace {

constexpr const char* devices_footer = R"(
Examples:
  glint devices
  glint devices --json
  CUDA_VISIBLE_DEVICES=1 glint devices

The number in front of a GPU is its CUDA number in this process, or "-" if the process cannot use
the GPU. Allocates nothing on any GPU. Without a GPU the reason is printed, and the exit code is 0.
The last lines describe the CPU: instruction sets, threads, memory.)";

nlohmann::ordered_json as_json(const gpu::Device& d) {
    nlohmann::ordered_json processes = nlohmann::ordered_json::array();
    for (const gpu::DeviceProcess& p : d.processes) processes.push_back({{"pid", p.pid}, {"used_bytes", p.used_bytes}});
    return {{"ordinal", d.ordinal},
            {"name", d.name},
            {"uuid", d.uuid},
            {"pci_bus", d.pci_bus},
            {"mig", d.mig},
            {"usable", d.why_not.empty()},
            {"why_not", d.why_not},
            {"total_bytes", d.total_bytes},
            {"free_bytes", d.free_bytes},
            {"utilization_percent", d.utilization_percent},
            {"compute_capability", fmt::format("{}.{}", d.capability_major, d.capability_minor)},
            {"pcie_generation", d.pcie_generation},
            {"pcie_width", d.pcie_width},
            {"compute_mode", d.compute_mode},
            {"processes", processes}};
}

/// Returns the CUDA version of the driver; empty if the driver has none.
std::string cuda_text(const gpu::Inventory& inventory) {
    const int version = inventory.cuda_version;
    return version ? fmt::format("{}.{}", version / 1000, version % 1000 / 10) : "";
}

nlohmann::ordered_json as_json(const gpu::Inventory& inventory) {
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    for (const gpu::Device& device : inventory.devices) devices.push_back(as_json(device));
    return {{"driver_version", inventory.driver_version},
            {"cuda_version", cuda_text(inventory)},
            {"why_no_nvml", inventory.why_no_nvml},
            {"usable", inventory.why_none.empty()},
            {"why_none", inventory.why_none},
            {"devices", devices}};
}

offload::BackendInfo cpu_backend() {
    for (offload::BackendInfo& info : offload::detect_backends())
        if (info.kind == Backend::cpu) return std::move(info);
    return {};
}

nlohmann::ordered_json as_json(const offload::BackendInfo& cpu) {
    const offload::BackendDevice device = cpu.usable() ? cpu.devices.front() : offload::BackendDevice();
    return {{"name", device.name},
            {"usable", cpu.usable()},
            {"why_not", cpu.why_not},
            {"instruction_set", cpu.instruction_set},
            {"instruction_sets", cpu.instruction_sets},
            {"threads", cpu.threads},
            {"total_bytes", device.total_bytes},
            {"free_bytes", device.free_bytes}};
}

std::string memory_text(const gpu::Device& d) {
    constexpr double gib = 1024.0 * 1024 * 1024;
    const double total = double(d.total_bytes) / gib;
    if (d.total_bytes == 0) return "memory unknown";
    return d.free_bytes > 0 ? fmt::format("{:.1f} of {:.1f} GiB free", double(d.free_bytes) / gib, total)
                            : fmt::format("{:.1f} GiB", total);
}

std::string facts(const gpu::Device& d) {
    std::string text = memory_text(d);
    if (d.capability_major > 0)
        text += fmt::format(", compute capability {}.{}", d.capability_major, d.capability_minor);
    if (d.pcie_width > 0) text += fmt::format(", PCIe {} x{}", d.pcie_generation, d.pcie_width);
    if (d.utilization_percent >= 0) text += fmt::format(", {} % busy", d.utilization_percent);
    if (!d.compute_mode.empty() && d.compute_mode != "default") text += ", " + d.compute_mode;
    if (!d.processes.empty())
        text += fmt::format(", {} process{}", d.processes.size(), d.processes.size() > 1 ? "es" : "");
    return text;
}

void print_table(const gpu::Inventory& inventory) {
    if (!inventory.driver_version.empty())
        put("driver {}, {}\n", inventory.driver_version,
            inventory.cuda_version ? "CUDA " + cuda_text(inventory) : "no CUDA");
    if (!inventory.why_no_nvml.empty()) put("memory, load and processes are not known: {}\n", inventory.why_no_nvml);
    for (const gpu::Device& d : inventory.devices) {
        const std::string number = d.ordinal >= 0 ? fmt::format("{}", d.ordinal) : "-";
        put("{:>2}  {}{}\n    {}\n    {}\n", number, d.mig ? "MIG instance: " : "", d.name, d.uuid, facts(d));
        if (!d.why_not.empty()) put("    cannot be used: {}\n", d.why_not);
    }
    if (!inventory.why_none.empty()) put("no GPU can be used: {}\n", inventory.why_none);
}

void print_cpu(const offload::BackendInfo& cpu) {
    constexpr double gib = 1024.0 * 1024 * 1024;
    if (!cpu.usable()) return put("the CPU cannot be used: {}\n", cpu.why_not);
    const offload::BackendDevice& device = cpu.devices.front();
    put("CPU {}\n    {}, {:.1f} of {:.1f} GiB free\n", printable(device.name), cpu.detail,
        double(device.free_bytes) / gib, double(device.total_bytes) / gib);
}

int run(const ConsoleFlags& flags) {
    const gpu::Inventory inventory = gpu::inventory();
    const offload::BackendInfo cpu = cpu_backend();
    if (flags.json) {
        nlohmann::ordered_json all = as_json(inventory);
        all["cpu"] = as_json(cpu);
        print_json(all);
    } else {
        print_table(inventory);
        print_cpu(cpu);
    }
    return exit_ok;
}

}  // namespace

Command add_devices(CLI::App& program) {
    CLI::App* app = program.add_subcommand("devices", "Lists the GPUs, why one cannot be used, and the CPU");
    const auto flags = std::make_shared<ConsoleFlags>();
    add_console_flags(*app, *flags);
    app->footer(devices_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
