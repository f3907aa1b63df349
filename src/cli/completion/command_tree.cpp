// Reads commands and flags from CLI11.
// SPDX-License-Identifier: MIT
#include "cli/completion/command_tree.hpp"

#include <algorithm>

namespace glint::cli {
namespace {

FlagFacts read_flag(CLI::Option& option) {
    FlagFacts flag;
    if (option.get_positional()) flag.names.push_back(option.get_name(true));
    for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
    if (option.get_items_expected_max() > 0) flag.value = option.get_type_name(), flag.usual = option.get_default_str();
    flag.about = option.get_description(), flag.group = option.get_group();
    flag.required = option.get_required();
    flag.several = option.get_items_expected_max() > 1;
    flag.choices = choices_of(option);
    if (flag.value.starts_with("TEXT:")) flag.value.erase(0, 5);  // only the words
    return flag;
}

CommandFacts read_command(CLI::App& app, const std::string& path, const std::vector<std::string>& runs_program) {
    CommandFacts command;
    command.name = app.get_name(), command.path = path;
    command.about = app.get_description(), command.footer = app.get_footer(), command.group = app.get_group();
    command.runs_program = std::find(runs_program.begin(), runs_program.end(), path) != runs_program.end();
    for (CLI::Option* option : app.get_options())
        if (!option->get_group().empty())
            (option->get_positional() ? command.arguments : command.flags).push_back(read_flag(*option));
    for (CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
        if (!below->get_group().empty())
            command.commands.push_back(
                read_command(*below, (path.empty() ? "" : path + " ") + below->get_name(), runs_program));
    return command;
}

void list(const CommandFacts& command, std::vector<const CommandFacts*>& all) {
    all.push_back(&command);
    for (const CommandFacts& below : command.commands) list(below, all);
}

}  // namespace

CommandFacts read_commands(CLI::App& program, const std::vector<std::string>& runs_program) {
    return read_command(program, "", runs_program);
}

std::vector<const CommandFacts*> all_commands(const CommandFacts& program) {
    std::vector<const CommandFacts*> all;
    list(program, all);
    return all;
}

std::string brief(const std::string& about) {
    constexpr std::size_t most = 72;
    if (about.size() <= most) return about;
    return about.substr(0, about.rfind(' ', most - 4)) + " ...";
}

}  // namespace glint::cli
