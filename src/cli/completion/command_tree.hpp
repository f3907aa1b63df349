// The commands and their flags as plain data, read from the parser. Completion and manual pages agree with the help.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/flags/choices.hpp"

namespace glint::cli {

struct FlagFacts {
    std::vector<std::string> names;  ///< "-o", "--output"; for an argument only its name: "movies"
    std::string value;               ///< as in the help: "TEXT", "{auto,cpu,gpu}"; empty if the flag has no value
    std::string usual;               ///< the default, if the help shows it
    std::string about, group;
    bool required = false, several = false;
    Choices choices;
};

struct CommandFacts {
    std::string name;  ///< "astigmatism"
    std::string path;  ///< as typed after the program's name: "calibrate astigmatism"; empty for the program
    std::string about, footer, group;
    std::vector<FlagFacts> flags, arguments;
    std::vector<CommandFacts> commands;
    bool runs_program = false;  ///< the words after `--` are the command line of another program
};

/// Reads the commands of a program. `runs_program` are the paths of commands that run another program.
CommandFacts read_commands(CLI::App& program, const std::vector<std::string>& runs_program);

/// Returns the command and all its subcommands, in the order of the help.
std::vector<const CommandFacts*> all_commands(const CommandFacts& program);

/// Returns the description in at most 72 characters, for lists.
std::string brief(const std::string& about);

/// Returns a completion script for a shell. Install it in the shell's folder of completions, with the name `glint`.
std::string bash_completion(const CommandFacts& program);
std::string zsh_completion(const CommandFacts& program);
std::string fish_completion(const CommandFacts& program);

/// Returns the manual page of one command of `program`, in roff.
std::string manual_page(const CommandFacts& command, const CommandFacts& program, const std::string& version);
/// Returns the name of the page: "glint-calibrate-astigmatism".
std::string page_name(const CommandFacts& command, const CommandFacts& program);

}  // namespace glint::cli
