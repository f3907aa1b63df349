// What is wrong with a command line, in words that help: all that is missing at once, and what was perhaps meant.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace glint::cli {

/// What the parser found, and where help is. `program` has parsed as far as it came.
std::string explain(const CLI::ParseError& error, const CLI::App& program);

/// That a flag was given without its value, as by an empty variable of a script (`--gain ""`), one that takes none with a
/// value (`--follow=5`), or a number with nan; empty if there is no such flag.
std::string explain_wrong_value(const CLI::App& command);

/// That there is no such command, with the one that was perhaps meant.
std::string explain_no_command(const std::string& word, const CLI::App& program);

}  // namespace glint::cli
