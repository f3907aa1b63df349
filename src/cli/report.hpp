// Turns errors into messages and exit codes.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <new>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

namespace glint::cli {

/// Returns whether --json is among the words before `--`, even if the rest cannot be parsed.
bool wants_json(int argc, char** argv);

/// How a command failed (docs/reference/command_line.md, "Exit codes").
struct Failure {
    std::string message;
    const char* kind;
    int exit_code;
};
/// Returns the message for memory that the system refused, with the remedy.
std::string why_no_memory();
/// The same error in another process.
class NoMemoryElsewhere : public std::bad_alloc {
  public:
    explicit NoMemoryElsewhere(std::string message) : message_(std::move(message)) {}
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    std::string message_;
};
Failure failure_of(std::exception_ptr thrown);
nlohmann::ordered_json as_json(const Failure& failure);

/// Returns a line of a list of failed movies. Names the movie once, even if the message begins with it.
std::string line_of_failed(const std::string& movie, const std::string& message);

/// Prints the message on stderr and, with `json`, on stdout. Returns `code`.
int report(const char* message, const char* kind, int code, bool json);

/// Prints the text for --help or --version on stdout. Returns the exit code.
int print_help(const CLI::App& program, const CLI::Success& success);

/// Runs `body`, reports its exceptions, and returns the exit code (command_line.md). If a result could not be written
/// to stdout, that is an output error.
int report_errors(const std::function<int()>& body, bool json);

}  // namespace glint::cli
