// `glint doctor`: what is wrong with this machine's GPUs and their sharing, with one line of remedy each, and what is
// missing.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands/doctor_report.hpp"
#include "cli/console.hpp"
#include "cli/print.hpp"
#include "glint/gpu_fit.hpp"
#include "gpu/doctor/guide.hpp"

namespace glint::cli {
namespace {

using gpu::doctor::Findings;
using gpu::doctor::Health;

constexpr const char* doctor_footer = R"(
Examples:
  glint doctor
  glint doctor --test
  glint doctor --calibrate --verbose
  glint doctor --guide
  glint doctor --json | jq '.findings[] | select(.health != "ok")'

Checks the driver, NVML, device files and their permissions, each GPU's modes and health, dead or stopped processes that hold
memory, the lease directory and who can access it, abandoned leases, and environment variables. Nothing is allocated on any GPU,
except with --test and --calibrate. --guide prints which software is missing instead (driver, libraries for array operations),
with the commands that install it on this distribution. The exit code is 0 if there are at most warnings, and 6 if there is a
problem: a GPU that cannot be used, or not be shared.)";

struct DoctorFlags {
    DoctorOptions checks;
    bool verbose = false, guide = false;
    ConsoleFlags console;
};

nlohmann::ordered_json as_json(const Findings& findings, int code) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const gpu::doctor::Finding& finding : findings)
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
        put("{}", gpu::doctor::installation_guide(machine));
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
    const Findings findings = examine(flags.checks);
    const int code = worst(findings) == Health::problem ? exit_unwell : exit_ok;
    if (flags.console.json)
        print_json(as_json(findings, code));
    else
        put("{}overall: {}\n", report_text(findings, flags.verbose), overall(findings));
    return code;
}

}  // namespace

Command add_doctor(CLI::App& program) {
    const auto flags = std::make_shared<DoctorFlags>();
    CLI::App* app = program.add_subcommand("doctor", "What is wrong with GPUs and their sharing, and the remedy");
    app->add_flag("--test", flags->checks.test,
                  "Also use each GPU briefly (a context, a copy, a few fits), and compare the results of all backends");
    app->add_flag("--calibrate", flags->checks.calibrate,
                  "Also measure CPU, GPU and the link between, for decisions to come (some seconds)");
    app->add_flag("--guide", flags->guide,
                  "Only print which software is missing on this machine, and how to install it");
    app->add_flag("-v,--verbose", flags->verbose, "A line for each GPU also where all is well");
    add_console_flags(*app, flags->console);
    app->footer(doctor_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
