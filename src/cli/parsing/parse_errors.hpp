// Explains errors in a command line: names everything that is missing, and suggests similar names.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace glint::cli {

/// Returns the error message for a parser error, with a hint to the help. `program` has parsed up to the error.
std::string explain(const CLI::ParseError& error, const CLI::App& program);

/// Returns an error message for the first of these; empty if there is none:
/// - a flag with an empty value, as from an empty variable of a script (`--gain ""`);
/// - a flag without a value that got one (`--follow=5`);
/// - a number that is nan.
std::string explain_wrong_value(const CLI::App& command);

/// Returns the error message for an unknown command, with a similar name.
std::string explain_no_command(const std::string& word, const CLI::App& program);

}  // namespace glint::cli
