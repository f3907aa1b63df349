// Combines the checks of all layers, and formats their findings as text.
// SPDX-License-Identifier: MIT
#include "cli/commands/doctor_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/commands/doctor_arrays.hpp"
#include "cli/commands/try_gpu.hpp"
#include "cli/printable.hpp"
#include "glint/gpu_fit.hpp"

namespace glint::cli {
namespace {

using gpu::doctor::Finding;
using gpu::doctor::Findings;
using gpu::doctor::Health;

Finding check_kernels() {
    if (has_gpu_kernels()) return {Health::ok, "kernels", "", "built in; the CUDA toolkit is not needed", ""};
    if (!gpu::doctor::machine_has_gpu())
        return {Health::ok, "kernels", "", "this glint was built without CUDA, which nothing here needs", ""};
    return {Health::problem, "kernels", "", "this glint was built without CUDA: it fits on the CPU only",
            "build it where nvcc is found (./dev setup gpu)"};
}

std::string lines(const Finding& finding) {
    std::string text = fmt::format("{:<7}  {:<15}  {}{}\n", name_of(finding.health), finding.check,
                                   finding.gpu.empty() ? "" : finding.gpu + ": ", printable(finding.found));
    if (!finding.remedy.empty()) text += fmt::format("{:26}-> {}\n", "", printable(finding.remedy));
    return text;
}

}  // namespace

Findings examine(const DoctorOptions& options) {
    Findings findings = gpu::doctor::examine({"GLINT_DATA", "GLINT_SHARED_SEEDS"});
    findings.insert(findings.begin() + 1, check_kernels());
    if (options.test)
        for (const gpu::Device& device : gpu::inventory().devices)
            if (device.why_not.empty()) findings.push_back(try_gpu(device, options.stop));
    const auto add = [&](const Findings& more) { findings.insert(findings.end(), more.begin(), more.end()); };
    if (options.test) add(test_arrays(options.stop));
    if (options.calibrate) add(calibrate_arrays(options.stop));
    return findings;
}

const char* name_of(Health health) {
    return health == Health::ok ? "ok" : health == Health::warning ? "warning" : "problem";
}

Health worst(const Findings& findings) {
    Health health = Health::ok;
    for (const Finding& finding : findings) health = std::max(health, finding.health);
    return health;
}

int count(const Findings& findings, Health health) {
    return int(std::count_if(findings.begin(), findings.end(), [=](const Finding& f) { return f.health == health; }));
}

std::string overall(const Findings& findings) {
    const auto number = [](int n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
    const int problems = count(findings, Health::problem), warnings = count(findings, Health::warning);
    return (problems ? number(problems, "problem") : "ok") + (warnings ? ", " + number(warnings, "warning") : "");
}

std::string report_text(const Findings& all, bool verbose) {
    // What has its default says nothing about this machine.
    const auto is_default = [](const Finding& f) {
        return f.check == "variables" && f.health == Health::ok && f.found.ends_with(" (default)");
    };
    Findings findings = all;
    if (!verbose) {
        const auto defaults = std::count_if(all.begin(), all.end(), is_default);
        std::erase_if(findings, is_default);
        if (defaults > 0)
            findings.push_back(
                {Health::ok, "variables", "",
                 fmt::format("{} variable{} at default values (-v lists them)", defaults, defaults == 1 ? "" : "s"),
                 ""});
    }
    std::vector<std::string> checks;
    for (const Finding& finding : findings)
        if (std::find(checks.begin(), checks.end(), finding.check) == checks.end()) checks.push_back(finding.check);
    std::string text;
    for (const std::string& check : checks) {
        const auto of_gpu = [&](const Finding& f) { return f.check == check && !f.gpu.empty(); };
        const bool shared = !verbose && std::count_if(findings.begin(), findings.end(), of_gpu) > 1;
        int well = 0;
        for (const Finding& finding : findings)
            if (shared && of_gpu(finding) && finding.health == Health::ok)
                ++well;
            else if (finding.check == check)
                text += lines(finding);
        if (well) text += lines({Health::ok, check, "", fmt::format("{} GPU{}", well, well > 1 ? "s" : ""), ""});
    }
    return text;
}

}  // namespace glint::cli
