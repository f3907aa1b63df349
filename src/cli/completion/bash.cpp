// Completion for bash 4.4 or newer: a table of words for each position in the command line.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion/command_tree.hpp"

namespace glint::cli {
namespace {

constexpr const char* head = R"(# Completion of glint for bash, made by `glint completion bash`.

# Files whose names end in one of the arguments, in any case, and folders.
_glint_files() {
    local name ending
    while IFS= read -r name; do
        [[ -d $name ]] && COMPREPLY+=("$name") && continue
        for ending; do [[ ${name,,} == *"$ending" ]] && COMPREPLY+=("$name") && break; done
    done < <(compgen -f -- "$cur")
    compopt -o filenames 2>/dev/null
}

_glint_words() { mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur"); }

_glint_folders() {
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
    compopt -o filenames 2>/dev/null
}

# The command line of another program, which begins at word $1.
_glint_program() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
        _glint_files ''
    fi
}

_glint() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= k
    COMPREPLY=()
    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi # --flag=value
    ((COMP_CWORD > 1)) && command=${COMP_WORDS[1]}
)";

std::string action(const Choices& choices) {
    if (!choices.words.empty()) return fmt::format("_glint_words '{}'", fmt::join(choices.words, " "));
    if (!choices.endings.empty()) return fmt::format("_glint_files {}", fmt::join(choices.endings, " "));
    return choices.folders ? "_glint_folders" : ":";
}

std::string names_of(const std::vector<CommandFacts>& commands) {
    std::string names;
    for (const CommandFacts& command : commands) names += (names.empty() ? "" : " ") + command.name;
    return names;
}

std::string flags_of(const CommandFacts& command) {
    std::vector<std::string> names;
    for (const FlagFacts& flag : command.flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
    return fmt::format("{}", fmt::join(names, " "));
}

/// Returns a line of `case "$command:$prev"` for each flag with a value.
std::string values_of(const CommandFacts& command) {
    std::string lines;
    for (const FlagFacts& flag : command.flags) {
        if (flag.value.empty()) continue;
        std::string places;
        for (const std::string& name : flag.names)
            places += fmt::format("{}'{}:{}'", places.empty() ? "" : " | ", command.path, name);
        lines += fmt::format("        {}) {}; return ;;\n", places, action(flag.choices));
    }
    return lines;
}

/// Returns the action for an argument: a word that is neither a flag nor the value of one.
std::string argument_of(const CommandFacts& command) {
    if (!command.commands.empty())
        return fmt::format("_glint_words '{}{}'", names_of(command.commands), command.path.empty() ? " help" : "");
    Choices any;
    for (const FlagFacts& argument : command.arguments)
        for (auto list : {&Choices::words, &Choices::endings})
            (any.*list).insert((any.*list).end(), (argument.choices.*list).begin(), (argument.choices.*list).end());
    return action(any);
}

}  // namespace

std::string bash_completion(const CommandFacts& program) {
    std::string groups, values, flags, arguments;
    for (const CommandFacts* command : all_commands(program)) {
        if (!command->commands.empty() && !command->path.empty())
            groups += (groups.empty() ? "" : " | ") + command->path;
        values += values_of(*command);
        flags += fmt::format("            '{}') _glint_words '{}' ;;\n", command->path, flags_of(*command));
        arguments += fmt::format("            '{}') {} ;;\n", command->path, argument_of(*command));
    }
    std::string text = head;
    text += fmt::format("    case $command in {}) ((COMP_CWORD > 2)) && command+=\" ${{COMP_WORDS[2]}}\" ;; esac\n",
                        groups);
    for (const CommandFacts* command : all_commands(program))
        if (command->runs_program)
            text += fmt::format(
                "    if [[ $command == '{}' ]]; then\n"
                "        for ((k = 2; k < COMP_CWORD; ++k)); do\n"
                "            [[ ${{COMP_WORDS[k]}} == -- ]] && _glint_program $((k + 1)) && return\n"
                "        done\n    fi\n",
                command->path);
    text += "    case \"$command:$prev\" in\n" + values + "    esac\n";
    text += "    if [[ $cur == -* ]]; then\n        case $command in\n" + flags + "        esac\n    else\n";
    text += "        case $command in\n" + arguments;
    text +=
        fmt::format("            help) _glint_words '{}' ;;\n        esac\n    fi\n}}\n\n", names_of(program.commands));
    return text + "complete -F _glint glint\n";
}

}  // namespace glint::cli
