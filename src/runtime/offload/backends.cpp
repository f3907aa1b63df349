// The table of backends, and their detection.
// SPDX-License-Identifier: MIT
#include "glint/offload/backends.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/system.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/error.hpp"
#include "glint/isa.hpp"

namespace glint::offload {
namespace {

void detect_cuda(BackendInfo& info) {
    const gpu::Inventory found = gpu::inventory();
    if (found.cuda_version)
        info.detail = fmt::format("driver {}, CUDA {}.{}", found.driver_version, found.cuda_version / 1000,
                                  found.cuda_version % 1000 / 10);
    info.why_not = found.why_none;
    for (const gpu::Device& device : found.devices)
        if (device.why_not.empty()) info.devices.push_back({device.name, device.total_bytes, device.free_bytes});
}

void describe_cpu(BackendInfo& info) {
    info.instruction_sets = available_isas();
    info.instruction_set = active_isa();
    info.threads = environment::threads();
    std::vector<std::string> others = info.instruction_sets;
    std::erase(others, info.instruction_set);
    info.detail = fmt::format("{}{}, {} thread{}", info.instruction_set,
                              others.empty() ? "" : fmt::format(" (also {})", fmt::join(others, ", ")), info.threads,
                              info.threads == 1 ? "" : "s");
}

void detect_cpu(BackendInfo& info) {
    const std::string name = proc_entry("/proc/cpuinfo", "model name");  // empty on Arm
    info.devices = {{name.empty() ? "CPU" : name, memory_bytes("MemTotal"), memory_bytes("MemAvailable")}};
    try {
        describe_cpu(info);
    } catch (const OptionError& error) {  // GLINT_ISA, GLINT_THREADS
        info.why_not = error.what();
        info.devices.clear();
    }
}

struct Entry {
    Backend kind;
    const char* name;
    void (*detect)(BackendInfo&);  ///< fills in all but kind and name
};

/// The best backend first. A new backend is a new line here: docs/explanation/offload.md, "Adding a backend".
constexpr Entry backends[] = {
    {Backend::gpu, "cuda", detect_cuda},
    {Backend::cpu, "cpu", detect_cpu},
};

bool is_allowed(Backend kind, Backend choice) {
    const bool any = choice == Backend::automatic || choice == Backend::prefer_gpu;
    return any || (kind == Backend::cpu) == (choice == Backend::cpu);
}

}  // namespace

std::vector<BackendInfo> detect_backends() {
    std::vector<BackendInfo> all;
    for (const Entry& backend : backends) {
        BackendInfo& info = all.emplace_back();
        info.kind = backend.kind;
        info.name = backend.name;
        backend.detect(info);
    }
    return all;
}

BackendInfo best_backend() {
    const Backend choice = environment::backend();
    std::string why_not;
    for (const BackendInfo& info : detect_backends()) {
        if (!is_allowed(info.kind, choice)) continue;
        if (info.usable()) return info;
        why_not = info.why_not;
    }
    if (choice == Backend::gpu) throw gpu::NoGpu(100, "GLINT_BACKEND=gpu: " + why_not);
    throw OptionError(why_not);
}

}  // namespace glint::offload
