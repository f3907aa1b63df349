// Completion for zsh: one call of _arguments per command.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "cli/completion/command_tree.hpp"

namespace glint::cli {
namespace {

/// Escapes text for single quotes, and characters that are special to _arguments and _describe.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else if (c == '[' || c == ']' || c == ':' || c == '\\')
            out += std::string("\\") + c;
        else
            out += c;
    }
    return out;
}

std::string action(const Choices& choices) {
    if (!choices.words.empty()) return fmt::format("({})", fmt::join(choices.words, " "));
    if (choices.folders) return "_files -/";
    if (choices.endings.empty()) return " ";
    std::string endings;
    for (const std::string& ending : choices.endings) endings += (endings.empty() ? "" : "|") + ending;
    return fmt::format("_files -g \"(#i)*({})(-.)\"", endings);
}

/// Returns the name of a flag's value, which zsh shows while it completes the value.
std::string word_for(const FlagFacts& flag) { return escaped(flag.value.starts_with('{') ? "value" : flag.value); }

/// '(-o --output)'{-o,--output}'[about]:FILE:...'
std::string spec(const FlagFacts& flag) {
    std::string names = flag.names.front();
    if (flag.names.size() > 1)
        names = fmt::format("({0})'{{{1}}}'", fmt::join(flag.names, " "), fmt::join(flag.names, ","));
    if (flag.several) names = flag.names.size() > 1 ? names : "*" + names;
    std::string text = fmt::format("'{}[{}]", names, escaped(brief(flag.about)));
    if (!flag.value.empty()) text += fmt::format(":{}:{}", word_for(flag), action(flag.choices));
    return text + "'";
}

std::string function_of(const CommandFacts& command) {
    std::string name = "_glint_" + command.path;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
    return name;
}

std::string commands_function(const CommandFacts& command) {
    std::string text = fmt::format("{}() {{\n    local -a commands=(\n", function_of(command));
    for (const CommandFacts& below : command.commands)
        text += fmt::format("        '{}:{}'\n", below.name, escaped(brief(below.about)));
    if (command.path.empty()) text += "        'help:A command and its flags, with examples'\n";
    text += "    )\n    local context state state_descr line\n    typeset -A opt_args\n    _arguments -C \\\n";
    for (const FlagFacts& flag : command.flags) text += fmt::format("        {} \\\n", spec(flag));
    text += "        '1:command:->command' '*::argument:->argument'\n    case $state in\n";
    text += "        command) _describe command commands ;;\n        argument)\n            case $words[1] in\n";
    for (const CommandFacts& below : command.commands)
        text += fmt::format("                {}) {} ;;\n", below.name, function_of(below));
    if (command.path.empty()) text += "                help) _describe command commands ;;\n";
    return text + "            esac\n            ;;\n    esac\n}\n\n";
}

std::string flags_function(const CommandFacts& command) {
    std::string text = fmt::format("{}() {{\n    _arguments", function_of(command));
    for (const FlagFacts& flag : command.flags) text += fmt::format(" \\\n        {}", spec(flag));
    for (const FlagFacts& argument : command.arguments)
        text += fmt::format(" \\\n        '{}:{}:{}'", argument.several ? "*" : "", escaped(argument.names.front()),
                            action(argument.choices));
    if (command.runs_program) text += " \\\n        '*:: :_normal'";
    return text + "\n}\n\n";
}

}  // namespace

std::string zsh_completion(const CommandFacts& program) {
    std::string text = "#compdef glint\n# Completion of glint for zsh, made by `glint completion zsh`.\n\n";
    for (const CommandFacts* command : all_commands(program))
        text += command->commands.empty() ? flags_function(*command) : commands_function(*command);
    // If compinit loads the file, it is the function itself. If sourced, it defines the function.
    return text + "if [[ $funcstack[1] == _glint ]]; then\n    _glint_ \"$@\"\nelse\n    compdef _glint_ glint\nfi\n";
}

}  // namespace glint::cli
