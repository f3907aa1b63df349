// The commands and their flags as plain data, read from the parser: what help, completion and manual pages describe is the same.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/flags/choices.hpp"

namespace glint::cli {

struct FlagFacts {
    std::vector<std::string> names;  ///< "-o", "--output"; of an argument its name alone: "movies"
    std::string value;               ///< as the help shows it: "TEXT", "{auto,cpu,gpu}"; empty: takes none
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
    bool runs_program = false;  ///< what follows `--` is another program's command line
};

/// `runs_program`: the paths of commands that take another program's command line.
CommandFacts read_commands(CLI::App& program, const std::vector<std::string>& runs_program);

/// The command and all below it, in the order of the help.
std::vector<const CommandFacts*> all_commands(const CommandFacts& program);

/// The description in at most 72 characters, for lists.
std::string brief(const std::string& about);

/// A completion script for a shell; install it where the shell looks for one of the name `glint`.
std::string bash_completion(const CommandFacts& program);
std::string zsh_completion(const CommandFacts& program);
std::string fish_completion(const CommandFacts& program);

/// The manual page of one command, in roff. `program` is the whole.
std::string manual_page(const CommandFacts& command, const CommandFacts& program, const std::string& version);
/// The page's name: "glint-calibrate-astigmatism".
std::string page_name(const CommandFacts& command, const CommandFacts& program);

}  // namespace glint::cli
