// Checks the environment variables that influence glint and CUDA.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "glint/environment.hpp"
#include "gpu/doctor/doctor.hpp"
#include "gpu/driver.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::doctor {
namespace {

/// Each variable with its effective value and origin.
void check_known(const std::vector<environment::Setting>& settings, Findings& findings) {
    for (const environment::Setting& setting : settings)
        if (setting.problem.empty())
            findings.push_back(
                {Health::ok, "variables", "",
                 text(setting.name, " = ", setting.value, setting.is_set ? " (environment)" : " (default)"), ""});
        else
            findings.push_back(
                {Health::problem, "variables", "", setting.problem, "unset it, or set it to such a value"});
}

/// Unknown variables with the prefix GLINT_ are probably misspelt.
void check_unknown(const std::vector<environment::Setting>& settings, const std::vector<std::string>& others,
                   Findings& findings) {
    std::vector<std::string> unknown;
    for (char** entry = environ; *entry; ++entry) {
        const std::string name(*entry, std::strcspn(*entry, "="));
        const bool known = std::any_of(settings.begin(), settings.end(), [&](const auto& s) { return s.name == name; });
        if (name.starts_with("GLINT_") && !known && std::find(others.begin(), others.end(), name) == others.end())
            unknown.push_back(name);
    }
    std::sort(unknown.begin(), unknown.end());
    for (const std::string& name : unknown)
        findings.push_back({Health::warning, "variables", "", name + ": glint knows no such variable",
                            "is it misspelt? docs/reference/command_line.md lists them"});
}

/// The driver silently ignores all entries from the first invalid one on.
void check_visible_devices(const Inventory& inventory, Findings& findings) {
    const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!value || !why_disabled().empty()) return;
    const std::string note = text("CUDA_VISIBLE_DEVICES=\"", value, "\"");
    const auto named = *value ? std::count(value, value + std::strlen(value), ',') + 1 : 0;
    const auto seen = std::count_if(inventory.devices.begin(), inventory.devices.end(),
                                    [](const Device& device) { return device.ordinal >= 0; });
    if (seen < named || named == 0)
        findings.push_back({seen ? Health::warning : Health::problem, "variables", "",
                            text(note, ": ", named, " named, ", seen, " visible; CUDA stops at the first invalid one"),
                            "set it to UUIDs that `nvidia-smi -L` prints, or unset it"});
    else
        findings.push_back({Health::ok, "variables", "", note, ""});
}

void check_cuda(Findings& findings) {
    if (const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
        blocking && *blocking && std::string(blocking) != "0")
        findings.push_back({Health::warning, "variables", "",
                            "CUDA_LAUNCH_BLOCKING: uploads and kernels no longer overlap",
                            "unset it, except to find a faulty kernel"});
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
    const std::vector<environment::Setting> settings = environment::settings();
    check_known(settings, findings);
    check_unknown(settings, other_variables, findings);
    check_visible_devices(inventory, findings);
    check_cuda(findings);
    return findings;
}

}  // namespace glint::gpu::doctor
