// `glint doctor`: finds problems with this machine's GPUs and their sharing, with a remedy for each, and missing
// software.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands/doctor_report.hpp"
#include "cli/console.hpp"
#include "cli/print.hpp"
#include "cli/spelling.hpp"
#include "glint/gpu_fit.hpp"
#include "gpu/doctor/guide.hpp"

namespace glint::cli {
namespace {

constexpr const char* doctor_footer = R"(
Examples:
  glint doctor
  glint doctor --test
  glint doctor --calibrate --verbose
  glint doctor --guide
  glint doctor --json | jq '.findings[] | select(.health != "ok")'

Checks:
  - the driver, NVML, and the device files with their permissions
  - the modes and the health of each GPU
  - dead or stopped processes that hold GPU memory
  - the lease directory, who can access it, and abandoned leases
  - environment variables

Allocates nothing on any GPU, except with --test and --calibrate. --guide instead prints which
software is missing (driver, libraries for array operations), with the commands that install it on
this distribution. The exit code is 0 if there are at most warnings. It is 6 if there is a problem:
a GPU that cannot be used or cannot be shared.)";

struct DoctorFlags {
    DoctorOptions checks;
    bool verbose = false, guide = false;
    ConsoleFlags console;
};

int print_guide(const DoctorFlags& flags) {
    if (!flags.console.json) {
        put("{}", gpu::installation_guide(has_gpu_kernels()));
        return exit_ok;
    }
    const gpu::doctor::Machine machine = gpu::doctor::this_machine(has_gpu_kernels());
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const gpu::doctor::Missing& part : gpu::doctor::missing_parts(machine))
        all.push_back({{"part", part.part}, {"why", part.why}, {"how", part.how}});
    print_json({{"system", gpu::doctor::system_name(machine)}, {"missing", all}});
    return exit_ok;
}

int run(const DoctorFlags& flags) {
    if (flags.guide) return print_guide(flags);
    const gpu::Diagnosis diagnosis = examine(flags.checks);
    const int code = diagnosis.ok() ? exit_ok : exit_unwell;
    if (flags.console.json) {
        auto all = nlohmann::ordered_json::parse(diagnosis.to_json());
        for (auto& finding : all["findings"])
            for (auto& [key, value] : finding.items())
                if (value.is_string()) value = in_flags(value.get<std::string>());
        all["exit_code"] = code;
        print_json(all);
    } else {
        put("{}\n", in_flags(diagnosis.text(flags.verbose)));
    }
    return code;
}

}  // namespace

Command add_doctor(CLI::App& program) {
    const auto flags = std::make_shared<DoctorFlags>();
    CLI::App* app = program.add_subcommand("doctor", "Finds problems with GPUs and their sharing, with remedies");
    app->add_flag("--test", flags->checks.test,
                  "Also use each GPU briefly (a context, a copy, a few fits), and compare the results of all backends");
    app->add_flag("--calibrate", flags->checks.calibrate,
                  "Also measure the CPU, the GPU and the link between them, for later decisions (some seconds)");
    app->add_flag("--guide", flags->guide,
                  "Only print which software is missing on this machine, and how to install it");
    app->add_flag("-v,--verbose", flags->verbose, "Print a line for each GPU even if it has no problem");
    add_console_flags(*app, flags->console);
    app->footer(doctor_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
