// The environment variables that change what glint and CUDA do.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "glint/error.hpp"
#include "gpu/doctor/doctor.hpp"
#include "gpu/lease/broker.hpp"
#include "gpu/lease/hand_over.hpp"
#include "gpu/limit.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::doctor {
namespace {

/// Throws OptionError for a value that will not do, with what to write instead.
struct Variable {
    const char* name;
    std::function<void(const Inventory&)> check;
};

std::vector<Variable> known_variables() {
    return {{"GLINT_GPU_MEMORY_LIMIT",
             [](const Inventory& inventory) {
                 limit_of_environment(inventory.devices.empty() ? std::uint64_t(1) << 40
                                                                : inventory.devices[0].total_bytes);
             }},
            {"GLINT_GPU_EARLY_RECLAIM",
             [](const Inventory&) {
                 const std::string value = std::getenv("GLINT_GPU_EARLY_RECLAIM");
                 if (value != "0" && value != "1" && !value.empty())
                     throw OptionError("GLINT_GPU_EARLY_RECLAIM=" + value + ": only 0 switches it off");
             }},
            {"GLINT_LEASES_PER_USER", [](const Inventory&) { lease::leases_per_user(); }},
            {"GLINT_LEASE_DIR",
             [](const Inventory&) {
                 const std::string value = std::getenv("GLINT_LEASE_DIR");
                 if (!value.empty() && value[0] != '/')
                     throw OptionError("GLINT_LEASE_DIR=" + value +
                                       ": another directory in each folder; write it from the root on");
             }},
            {lease::inherited_variable, [](const Inventory&) {}}};
}

void check_own(const std::string& name, const std::string& value, const Inventory& inventory,
               const std::vector<std::string>& others, Findings& findings) {
    const auto variables = known_variables();
    const auto known =
        std::find_if(variables.begin(), variables.end(), [&](const Variable& v) { return v.name == name; });
    if (known == variables.end() && std::find(others.begin(), others.end(), name) == others.end()) {
        findings.push_back({Health::warning, "variables", "", name + ": glint knows no such variable",
                            "is it misspelt? docs/command_line.md lists them"});
        return;
    }
    try {
        if (known != variables.end()) known->check(inventory);
        findings.push_back({Health::ok, "variables", "", name + "=" + value, ""});
    } catch (const OptionError& error) {
        findings.push_back({Health::problem, "variables", "", error.what(), "unset it, or give it such a value"});
    }
}

/// The driver takes the entries up to the first that it does not know, and says nothing.
void check_visible_devices(const Inventory& inventory, Findings& findings) {
    const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!value) return;
    const std::string note = text("CUDA_VISIBLE_DEVICES=\"", value, "\"");
    const auto named = *value ? std::count(value, value + std::strlen(value), ',') + 1 : 0;
    const auto seen = std::count_if(inventory.devices.begin(), inventory.devices.end(),
                                    [](const Device& device) { return device.ordinal >= 0; });
    if (seen < named || named == 0)
        findings.push_back(
            {seen ? Health::warning : Health::problem, "variables", "",
             text(note, ": ", named, " named, ", seen, " to be seen; CUDA stops at the first that there is not"),
             "give UUIDs that `nvidia-smi -L` prints, or unset it"});
    else
        findings.push_back({Health::ok, "variables", "", note, ""});
}

void check_cuda(Findings& findings) {
    if (const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
        blocking && *blocking && std::string(blocking) != "0")
        findings.push_back({Health::warning, "variables", "",
                            "CUDA_LAUNCH_BLOCKING: uploads and kernels no longer overlap",
                            "unset it, but for finding a faulty kernel"});
    const char* pipe = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    if (pipe && *pipe && ::access(pipe, F_OK) != 0)
        findings.push_back(
            {Health::warning, "variables", "",
             text("CUDA_MPS_PIPE_DIRECTORY=", pipe, ": there is no such directory (805)"),
             "start MPS there (nvidia-cuda-mps-control -d), mount it into the container, or unset this"});
}

}  // namespace

Findings check_variables(const Inventory& inventory, const std::vector<std::string>& other_variables) {
    Findings findings;
    std::vector<std::string> own;
    for (char** entry = environ; *entry; ++entry)
        if (std::strncmp(*entry, "GLINT_", 6) == 0) own.emplace_back(*entry);
    std::sort(own.begin(), own.end());
    for (const std::string& entry : own) {
        const std::size_t end = entry.find('=');
        check_own(entry.substr(0, end), entry.substr(end + 1), inventory, other_variables, findings);
    }
    check_visible_devices(inventory, findings);
    check_cuda(findings);
    if (findings.empty()) findings.push_back({Health::ok, "variables", "", "none is set", ""});
    return findings;
}

}  // namespace glint::gpu::doctor
