// Completion for fish: one call of `complete` per flag.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion/command_tree.hpp"

namespace glint::cli {
namespace {

constexpr const char* head = R"(# Completion of glint for fish, made by `glint completion fish`.

# Tests whether the command line begins with these commands.
function __glint_at
    set -l words (commandline -opc)[2..-1]
    set -l n (count $argv)
    test (count $words) -ge $n; or return 1
    test $n -eq 0; or test "$words[1..$n]" = "$argv"
end

# The same, if no word follows yet: here a subcommand is completed.
function __glint_next
    __glint_at $argv; and test (count (commandline -opc)) -eq (math 1 + (count $argv))
end

complete -c glint -f
)";

std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += (c == '\'' || c == '\\') ? std::string("\\") + c : std::string(1, c);
    return out + "'";
}

/// Returns the flags of `complete` for a value: -x -a with its choices, or -x alone if they are unknown.
std::string action(const Choices& choices) {
    if (!choices.words.empty())
        return fmt::format(" -x -a {}", quoted(fmt::format("{}", fmt::join(choices.words, " "))));
    if (!choices.endings.empty()) {
        std::string each;
        for (const std::string& ending : choices.endings)
            each += fmt::format("{}__fish_complete_suffix {}", each.empty() ? "" : "; ", ending);
        return fmt::format(" -x -k -a {}", quoted("(" + each + ")"));
    }
    return choices.folders ? " -x -a '(__fish_complete_directories)'" : " -x";
}

std::string flag_line(const CommandFacts& command, const FlagFacts& flag) {
    std::string line = fmt::format("complete -c glint -n {}", quoted("__glint_at " + command.path));
    for (const std::string& name : flag.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    line += " -d " + quoted(brief(flag.about));
    return line + (flag.value.empty() ? "" : action(flag.choices)) + "\n";
}

std::string lines_of(const CommandFacts& command) {
    std::string lines;
    for (const CommandFacts& below : command.commands)
        lines += fmt::format("complete -c glint -n {} -a {} -d {}\n", quoted("__glint_next " + command.path),
                             below.name, quoted(brief(below.about)));
    for (const FlagFacts& flag : command.flags) lines += flag_line(command, flag);
    for (const FlagFacts& argument : command.arguments)
        if (!argument.choices.endings.empty() || !argument.choices.words.empty())
            lines += fmt::format("complete -c glint -n {}{}\n", quoted("__glint_at " + command.path),
                                 action(argument.choices));
    if (command.runs_program)
        lines += fmt::format("complete -c glint -n {} -x -a '(__fish_complete_subcommand --fcs-skip=2)'\n",
                             quoted("__glint_at " + command.path + "; and contains -- -- (commandline -opc)"));
    return lines;
}

}  // namespace

std::string fish_completion(const CommandFacts& program) {
    std::string text = head;
    for (const CommandFacts* command : all_commands(program)) text += lines_of(*command);
    text += "complete -c glint -n '__glint_next' -a help -d 'A command and its flags, with examples'\n";
    for (const CommandFacts& command : program.commands)
        text += fmt::format("complete -c glint -n '__glint_next help' -a {} -d {}\n", command.name,
                            quoted(brief(command.about)));
    return text;
}

}  // namespace glint::cli
