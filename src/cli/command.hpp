// The subcommands. Each has its own file: `add_NAME` declares its flags, `run` does its work.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace glint::cli {

/// A subcommand of the program. `run` is called if the command line names it. It returns the exit code, and throws
/// glint's errors, which main.cpp turns into exit codes.
struct Command {
    CLI::App* app = nullptr;
    std::function<int()> run;
    /// Receives the words after `--`, the command line of another program, unchanged. If null, `--` has no special
    /// meaning.
    std::shared_ptr<std::vector<std::string>> program = nullptr;
};

Command add_run(CLI::App& program);
Command add_localize(CLI::App& program);
Command add_inspect(CLI::App& program);
Command add_fit(CLI::App& program);
Command add_render(CLI::App& program);
Command add_simulate(CLI::App& program);
Command add_drift(CLI::App& program);
Command add_link(CLI::App& program);
Command add_score(CLI::App& program);
Command add_resolution(CLI::App& program);
Command add_report(CLI::App& program);
Command add_cluster(CLI::App& program);
Command add_filter(CLI::App& program);
Command add_convert(CLI::App& program);
Command add_formats(CLI::App& program);
Command add_calibrate(CLI::App& program);
Command add_devices(CLI::App& program);
Command add_lease(CLI::App& program);
Command add_submit(CLI::App& program);
Command add_jobs(CLI::App& program);
Command add_top(CLI::App& program);
Command add_doctor(CLI::App& program);
Command add_completion(CLI::App& program);
/// Becomes a warm worker (gpu-sharing.md), which inherits its socket from a command with `--gpu-worker auto`.
Command add_gpu_worker(CLI::App& program);
/// `glint help --man COMMAND ...`: prints the manual page of the command, or of the program if `words` is empty, on
/// stdout. Returns the exit code.
int print_manual_page(CLI::App& program, const std::vector<std::string>& words);

/// Described in docs/reference/command_line.md, "Exit codes".
enum ExitCode : int {
    exit_ok = 0,
    exit_internal = 1,
    exit_options = 2,
    exit_input = 3,
    exit_output = 4,
    exit_gpu = 5,
    exit_unwell = 6,
    exit_memory = 7,
    exit_interrupted = 130,
};

}  // namespace glint::cli
