// `glint doctor`: what is wrong with this machine's GPUs and their sharing, with one line of remedy each, and what is
// missing.
// SPDX-License-Identifier: MIT
#include "gpu/doctor/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/doctor_arrays.hpp"
#include "cli/try_gpu.hpp"
#include "glint/gpu_fit.hpp"
#include "gpu/doctor/guide.hpp"

namespace glint::cli {
namespace {

using gpu::doctor::Finding;
using gpu::doctor::Findings;
using gpu::doctor::Health;

constexpr const char* help_footer = R"(
Examples:
  glint doctor
  glint doctor --test
  glint doctor --calibrate --verbose
  glint doctor --guide
  glint doctor --json | jq '.findings[] | select(.health != "ok")'

Checks the driver, NVML, device files and their permissions, each GPU's modes and health, processes that hold memory without
living, the directory of leases and who sees it, leases that go nowhere, and environment variables. Nothing is put on any
GPU but with --test and --calibrate. --guide prints what is missing instead (driver, libraries for array operations), with the commands that
install it on this distribution. The exit code is 0 when all is well or there are only warnings, and 6 when there is a problem: a GPU that
cannot be used, or not be shared.)";

struct DoctorFlags {
    bool test = false, calibrate = false, verbose = false, guide = false;
    ConsoleFlags console;
};

const char* name_of(Health health) {
    return health == Health::ok ? "ok" : health == Health::warning ? "warning" : "problem";
}

Finding check_kernels() {
    if (has_gpu_kernels()) return {Health::ok, "kernels", "", "built in; the CUDA toolkit is not needed", ""};
    return {Health::problem, "kernels", "", "this glint was built without CUDA: it fits on the CPU only",
            "build it where nvcc is found (./dev setup gpu)"};
}

Findings examine(const DoctorFlags& flags) {
    Findings findings = gpu::doctor::examine({"GLINT_DATA", "GLINT_SHARED_SEEDS"});
    findings.insert(findings.begin() + 1, check_kernels());
    if (flags.test)
        for (const gpu::Device& device : gpu::inventory().devices)
            if (device.why_not.empty()) findings.push_back(try_gpu(device));
    const auto add = [&](const Findings& more) { findings.insert(findings.end(), more.begin(), more.end()); };
    if (flags.test) add(test_arrays());
    if (flags.calibrate) add(calibrate_arrays());
    return findings;
}

Health worst(const Findings& findings) {
    Health health = Health::ok;
    for (const Finding& finding : findings) health = std::max(health, finding.health);
    return health;
}

int count(const Findings& findings, Health health) {
    return int(std::count_if(findings.begin(), findings.end(), [=](const Finding& f) { return f.health == health; }));
}

/// "ok, 1 warning"; "2 problems, 1 warning"
std::string overall(const Findings& findings) {
    const auto number = [](int n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
    const int problems = count(findings, Health::problem), warnings = count(findings, Health::warning);
    return (problems ? number(problems, "problem") : "ok") + (warnings ? ", " + number(warnings, "warning") : "");
}

void print_line(const Finding& finding) {
    fmt::print("{:<7}  {:<15}  {}{}\n", name_of(finding.health), finding.check,
               finding.gpu.empty() ? "" : finding.gpu + ": ", printable(finding.found));
    if (!finding.remedy.empty()) fmt::print("{:26}-> {}\n", "", printable(finding.remedy));
}

/// In the order in which the checks come. GPUs with which all is well share one line, unless --verbose.
void print(const Findings& findings, bool verbose) {
    std::vector<std::string> checks;
    for (const Finding& finding : findings)
        if (std::find(checks.begin(), checks.end(), finding.check) == checks.end()) checks.push_back(finding.check);
    for (const std::string& check : checks) {
        const auto of_gpu = [&](const Finding& f) { return f.check == check && !f.gpu.empty(); };
        const bool shared = !verbose && std::count_if(findings.begin(), findings.end(), of_gpu) > 1;
        int well = 0;
        for (const Finding& finding : findings)
            if (shared && of_gpu(finding) && finding.health == Health::ok)
                ++well;
            else if (finding.check == check)
                print_line(finding);
        if (well) print_line({Health::ok, check, "", fmt::format("{} GPU{}", well, well > 1 ? "s" : ""), ""});
    }
}

nlohmann::ordered_json as_json(const Findings& findings, int code) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Finding& finding : findings)
        all.push_back({{"health", name_of(finding.health)},
                       {"check", finding.check},
                       {"gpu", finding.gpu},
                       {"found", finding.found},
                       {"remedy", finding.remedy}});
    return {{"health", name_of(worst(findings))},
            {"overall", overall(findings)},
            {"problems", count(findings, Health::problem)},
            {"warnings", count(findings, Health::warning)},
            {"exit_code", code},
            {"findings", all}};
}

int print_guide(const DoctorFlags& flags) {
    const gpu::doctor::Machine machine = gpu::doctor::this_machine(has_gpu_kernels());
    if (!flags.console.json) {
        fmt::print("{}", gpu::doctor::installation_guide(machine));
        return exit_ok;
    }
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const gpu::doctor::Missing& part : gpu::doctor::missing_parts(machine))
        all.push_back({{"part", part.part}, {"why", part.why}, {"how", part.how}});
    print_json({{"system", gpu::doctor::system_name(machine)}, {"missing", all}});
    return exit_ok;
}

int run(const DoctorFlags& flags) {
    if (flags.guide) return print_guide(flags);
    const Findings findings = examine(flags);
    const int code = worst(findings) == Health::problem ? exit_unwell : exit_ok;
    if (flags.console.json)
        print_json(as_json(findings, code));
    else
        print(findings, flags.verbose), fmt::print("overall: {}\n", overall(findings));
    return code;
}

}  // namespace

Command add_doctor(CLI::App& program) {
    const auto flags = std::make_shared<DoctorFlags>();
    CLI::App* app = program.add_subcommand("doctor", "What is wrong with GPUs and their sharing, and how to mend it");
    app->add_flag(
        "--test", flags->test,
        "Also use each GPU for a moment: a context, a copy, a few fits; compute on every backend and compare");
    app->add_flag("--calibrate", flags->calibrate,
                  "Also measure CPU, GPU and the link between, for decisions to come (some seconds)");
    app->add_flag("--guide", flags->guide, "Only what is missing on this machine, and how to get it there");
    app->add_flag("-v,--verbose", flags->verbose, "A line for each GPU also where all is well");
    add_console_flags(*app, flags->console);
    app->footer(help_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
