// Errors into messages and exit codes.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace glint::cli {

/// Whether --json is among the words before `--`: known even where the rest cannot be parsed.
bool wants_json(int argc, char** argv);

/// What became of a command that threw (docs/command_line.md, "Exit codes").
struct Failure {
    std::string message;
    const char* kind;
    int exit_code;
};
Failure failure_of(std::exception_ptr thrown);
nlohmann::ordered_json as_json(const Failure& failure);

/// Prints the message on stderr, with `json` on stdout too; returns `code`.
int report(const char* message, const char* kind, int code, bool json);

/// What --help or --version asked for, on stdout; returns its exit code.
int print_help(const CLI::App& program, const CLI::Success& success);

/// Runs `body`. What it throws is reported, and its exit code returned (docs/command_line.md); that of an output that
/// could not be written where a result did not arrive on stdout.
int report_errors(const std::function<int()>& body, bool json);

}  // namespace glint::cli
