// Words for the parser's errors.
// SPDX-License-Identifier: MIT
#include "cli/parse_errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest_name.hpp"

namespace glint::cli {
namespace {

const CLI::App& innermost(const CLI::App& program) {
    const CLI::App* app = &program;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return *app;
}

/// "glint calibrate astigmatism"
std::string full_name(const CLI::App& app) {
    return (app.get_parent() ? full_name(*app.get_parent()) + " " : "") + app.get_name();
}

std::vector<std::string> flags_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    return names;
}

std::string not_given(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        if (option->get_required() && option->count() == 0)
            names.push_back(option->get_positional() ? option->get_name(true) : option->get_name(false, true));
    return fmt::format("still needed: {}", fmt::join(names, "; "));
}

/// "no option --simga: did you mean --sigma?"
std::string not_expected(std::vector<std::string> words, const CLI::App& app) {
    std::string text;
    for (const std::string& word : words) {
        if (!word.starts_with("-")) continue;
        const std::string near = nearest_name(word.substr(0, word.find('=')), flags_of(app));
        text += fmt::format("{}{} has no option {}{}", text.empty() ? "" : "; ", full_name(app), word,
                            near.empty() ? "" : ": did you mean " + near + "?");
    }
    return text.empty() ? fmt::format("not expected: {}", fmt::join(words, " ")) : text;
}

}  // namespace

std::string explain(const CLI::ParseError& error, const CLI::App& program) {
    const CLI::App& app = innermost(program);
    std::string what = error.what();
    if (dynamic_cast<const CLI::RequiredError*>(&error))
        what = app.get_require_subcommand_min() > 0
                   ? fmt::format("{} needs one of: {}", full_name(app), fmt::join(commands_of(app), " "))
                   : not_given(app);
    if (const std::vector<std::string> words = program.remaining(true);
        dynamic_cast<const CLI::ExtrasError*>(&error) && !words.empty())
        what = not_expected(words, app);
    return fmt::format("{} ({} --help explains)", what, full_name(app));
}

std::string explain_no_command(const std::string& word, const CLI::App& program) {
    const std::vector<std::string> commands = commands_of(program);
    std::string near = nearest_name(word, commands);
    if (word == "preview") near = "localize MOVIE --preview FRAME";
    return fmt::format("there is no command {}{} Commands are: {} ({} --help explains)", word,
                       near.empty() ? "." : fmt::format(": did you mean {} {}?", program.get_name(), near),
                       fmt::join(commands, " "), program.get_name());
}

}  // namespace glint::cli
