// Checks each GPU: whether it can be used, its modes, and its health as reported by NVML.
// SPDX-License-Identifier: MIT
#include "gpu/advice.hpp"
#include "gpu/doctor/doctor.hpp"
#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::doctor {
namespace {

/// A GPU excluded by configuration (CUDA_VISIBLE_DEVICES, MIG) is not a problem.
bool is_meant(const Device& device) {
    return device.instances > 0 || (device.ordinal < 0 && (device.mig || !visible_devices_note().empty()));
}

const char* remedy_of(const Device& device) {
    if (device.compute_mode == "prohibited") return "an administrator can allow programs: nvidia-smi -c DEFAULT";
    if (device.instances == 0 && !device.mig && device.ordinal < 0)
        return "an administrator can create MIG instances (nvidia-smi mig -cgi), or leave that mode (nvidia-smi -mig "
               "0)";
    return "use another GPU";
}

Finding usability(const Device& device) {
    Finding finding{Health::ok, "usable", device.uuid, "", ""};
    finding.found = device.name;
    if (!device.why_not.empty()) {
        finding.health = is_meant(device) ? Health::ok : Health::problem;
        finding.found += ": " + device.why_not;
        if (finding.health == Health::problem) finding.remedy = remedy_of(device);
    } else {
        finding.found += text(", ", bytes_text(device.free_bytes), " of ", bytes_text(device.total_bytes), " free");
    }
    return finding;
}

Finding compute_mode(const Device& device) {
    if (device.compute_mode == "exclusive-process")
        return {Health::warning, "compute mode", device.uuid, "one process at a time, so it cannot be shared",
                "an administrator can allow several: nvidia-smi -c DEFAULT"};
    return {Health::ok, "compute mode", device.uuid, device.compute_mode, ""};
}

Finding time_limit(const Device& device) {
    int limited = 0;
    driver().cuDeviceGetAttribute(&limited, cu::kernel_exec_timeout, device.ordinal);
    if (limited)
        return {Health::warning, "time limit", device.uuid,
                "it drives a display: kernels that run for seconds are ended (702)",
                "glint's kernels take milliseconds; for other programs use a GPU without a display"};
    return {Health::ok, "time limit", device.uuid, "the run time of kernels is not limited", ""};
}

/// The checks of one GPU by NVML.
class Board {
  public:
    Board(cu::NvmlDevice handle, std::string uuid, Findings& findings)
        : handle_(handle), uuid_(std::move(uuid)), findings_(findings) {}

    void check() {
        check_mig();
        check_persistence();
        check_memory();
    }

  private:
    void say(Health health, const char* check, const std::string& found, const char* remedy = "") {
        findings_.push_back({health, check, uuid_, found, remedy});
    }

    void check_mig() {
        unsigned now = 0, pending = 0;
        if (!table_.nvmlDeviceGetMigMode || table_.nvmlDeviceGetMigMode(handle_, &now, &pending) != nvml_success)
            return;
        if (now != pending)
            say(Health::warning, "mig", text("the mode becomes ", pending ? "on" : "off", " with the next reset"),
                "reset it when nobody uses it: nvidia-smi --gpu-reset -i N, or reboot");
        else
            say(Health::ok, "mig", now ? "on" : "off");
    }

    void check_persistence() {
        int on = 0;
        if (!table_.nvmlDeviceGetPersistenceMode || table_.nvmlDeviceGetPersistenceMode(handle_, &on) != nvml_success)
            return;
        if (on) return say(Health::ok, "persistence", "on");
        say(Health::warning, "persistence",
            "off: the first process on an idle GPU waits for seconds until it is initialized",
            "an administrator can start nvidia-persistenced (nvidia-smi -pm 1)");
    }

    void check_memory() {
        constexpr int uncorrected = 1, since_loaded = 0;
        unsigned long long errors = 0;
        const bool counted =
            table_.nvmlDeviceGetTotalEccErrors &&
            table_.nvmlDeviceGetTotalEccErrors(handle_, uncorrected, since_loaded, &errors) == nvml_success;
        if (counted && errors)
            say(Health::warning, "ecc",
                text(errors, " memory errors that could not be corrected since the driver was loaded"),
                "reset the GPU when nobody uses it; results of jobs that failed then are lost (214)");
        else
            say(Health::ok, "ecc",
                counted ? "no memory errors that could not be corrected" : "it does not count memory errors");
        unsigned corrected = 0, bad = 0, pending = 0, failed = 0;
        if (!table_.nvmlDeviceGetRemappedRows ||
            table_.nvmlDeviceGetRemappedRows(handle_, &corrected, &bad, &pending, &failed) != nvml_success)
            return;
        if (failed)
            say(Health::problem, "memory rows", "a faulty row could not be replaced by a spare one",
                "have the GPU replaced");
        else if (pending)
            say(Health::warning, "memory rows", "a faulty row will be replaced by a spare one with the next reset",
                "reset it when nobody uses it: nvidia-smi --gpu-reset -i N, or reboot");
        else
            say(Health::ok, "memory rows", text(corrected + bad, " replaced by spare ones"));
    }

    const Nvml& table_ = nvml();
    cu::NvmlDevice handle_;
    std::string uuid_;
    Findings& findings_;
};

void check_boards(Findings& findings) {
    const Nvml& table = nvml();
    unsigned count = 0;
    if (!table.why.empty() || table.nvmlDeviceGetCount_v2(&count) != nvml_success) return;
    for (unsigned k = 0; k < count; ++k) {
        cu::NvmlDevice handle = nullptr;
        if (const int result = table.nvmlDeviceGetHandleByIndex_v2(k, &handle)) {
            const Advice* advice = nvml_advice(result);
            findings.push_back(
                {Health::problem, "usable", "",
                 text("GPU ", k, " of `nvidia-smi`: ", advice ? advice->meaning : "NVML refuses it", " (", result, ")"),
                 advice ? advice->remedy : "see `nvidia-smi`"});
            continue;
        }
        char uuid[128] = {};
        table.nvmlDeviceGetUUID(handle, uuid, sizeof uuid - 1);
        Board(handle, uuid, findings).check();
    }
}

}  // namespace

Findings check_gpus(const Inventory& inventory) {
    Findings findings;
    const bool driver_works = driver().why.empty();  // otherwise the driver's finding covers all GPUs
    for (const Device& device : inventory.devices) {
        if (!driver_works) continue;
        findings.push_back(usability(device));
        if (!device.why_not.empty()) continue;
        findings.push_back(compute_mode(device));
        findings.push_back(time_limit(device));
    }
    if (driver_works && !inventory.why_none.empty())
        findings.push_back({Health::problem, "usable", "", "this process can use no GPU",
                            "see the reason of each, and CUDA_VISIBLE_DEVICES"});
    check_boards(findings);
    return findings;
}

}  // namespace glint::gpu::doctor
