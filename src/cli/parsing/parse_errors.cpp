// Rewords the errors of CLI11.
// SPDX-License-Identifier: MIT
#include "cli/parsing/parse_errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <string_view>

#include "base/nearest_name.hpp"
#include "workflow/recipe.hpp"

namespace glint::cli {
namespace {

const CLI::App& innermost(const CLI::App& program) {
    const CLI::App* app = &program;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return *app;
}

/// Returns the name of a command with its parents: "glint calibrate astigmatism".
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
    for (const CLI::App* command : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
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

/// Returns ". For example:" and the first example of the command's help; empty if there is none.
std::string example_of_help(const CLI::App& app) {
    const std::string footer = app.get_footer();
    const std::size_t at = footer.find("\n  " + full_name(app) + " ");
    return at == footer.npos ? "" : ". For example:" + footer.substr(at, footer.find('\n', at + 1) - at);
}

/// Returns the key of a recipe for a flag that glint run does not have: "threshold of [localize]" for --threshold.
/// Empty if there is no such key.
std::string recipe_key_of(const std::string& flag) {
    std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
    std::replace(name.begin(), name.end(), '-', '_');
    Recipe recipe;
    for (const RecipeKey& key : keys_of(recipe))
        if (key.name == name || (name == "roi" && key.name == std::string_view("roi_size")))
            return fmt::format("{} of [{}]", key.name, key.section);
    return "";
}

/// Returns "glint fit has no option --simga: did you mean --sigma?"; empty if none of the words is an option.
std::string no_such_options(const std::vector<std::string>& words, const CLI::App& app) {
    std::string text;
    for (const std::string& word : words) {
        if (!word.starts_with("-")) continue;
        const std::string flag = word.substr(0, word.find('=')), near = nearest_name(flag, flags_of(app));
        if (const std::string key = app.get_name() == "run" ? recipe_key_of(flag) : ""; !key.empty()) {
            text += fmt::format("{}{} has no option {}: it is {} in the recipe (--recipe FILE)",
                                text.empty() ? "" : "; ", full_name(app), flag, key);
            continue;
        }
        text += fmt::format("{}{} has no option {}{}", text.empty() ? "" : "; ", full_name(app), word,
                            near.empty() ? "" : ": did you mean " + near + "?");
    }
    return text;
}

/// Returns 1 for 1.000000; empty if the number is so large that there is no limit.
std::string limit_text(const std::string& number) {
    const double value = std::strtod(number.c_str(), nullptr);
    if (!(std::abs(value) < 1e300)) return "";
    return number.find('.') == number.npos ? number : fmt::format("{:g}", value);
}

/// Returns "a whole number" or "a number"; empty for words.
std::string kind_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    if (type.starts_with("UINT")) return "a whole number, 0 or more";
    if (type.starts_with("INT")) return "a whole number";
    return type.starts_with("FLOAT") ? "a number" : "";
}

/// Returns "a, b or c" for "{a,b,c}".
std::string any_of(const std::string& set) {
    std::string text = set.substr(1, set.size() - 2);
    if (const std::size_t last = text.rfind(','); last != text.npos) text.replace(last, 1, " or ");
    return std::regex_replace(text, std::regex(","), ", ");
}

/// Rewords an error of CLI11 about the value of an option: the option, the value, and what is expected. Returns other
/// errors unchanged.
std::string about_value(const std::string& what, const CLI::App& app) {
    if (what.size() > 1000) return what;  // a regular expression uses stack for each character
    std::smatch part;
    const auto kind = [&] {
        const CLI::Option* option = app.get_option_no_throw(part[1].str());
        return option ? kind_of(*option) : std::string();
    };
    static const std::regex unconverted("Could not convert: (\\S+) = ([^]*)"),
        out_of_range("(\\S+): Value ([^]*) not in range (\\S+) to (\\S+)"),
        not_in_set("(\\S+): ([^]*) not in (\\{.*\\})"), no_value("(\\S+): \\d+ required (.*) missing"),
        too_many("(\\S+): At Most (\\d+) required but received (\\d+)"),
        too_few("(\\S+): At least (\\d+) required but received (\\d+)"), excludes("(\\S+) excludes (\\S+)"),
        needs("(\\S+) requires (\\S+)");
    if (std::regex_match(what, part, unconverted)) {
        if (const std::string wanted = kind(); !wanted.empty())
            return fmt::format("{} {}: expected {}", part[1].str(), part[2].str(), wanted);
        return fmt::format("{} takes no value, and got {}", part[1].str(), part[2].str());
    }
    if (std::regex_match(what, part, out_of_range)) {
        const std::string low = limit_text(part[3]), high = limit_text(part[4]);
        const std::string wanted = part[3].str().find('.') == std::string::npos ? "a whole number" : "a number";
        return fmt::format("{} {}: expected {}{}", part[1].str(), part[2].str(), wanted,
                           high.empty() ? fmt::format(", {} or more", low) : fmt::format(" from {} to {}", low, high));
    }
    if (std::regex_match(what, part, not_in_set))
        return fmt::format("{} {}: expected {}", part[1].str(), part[2].str(), any_of(part[3]));
    if (std::regex_match(what, part, no_value)) {
        const std::string wanted = kind();
        return fmt::format("{} needs a value{}", part[1].str(), wanted.empty() ? "" : ": " + wanted);
    }
    if (std::regex_match(what, part, too_many) || std::regex_match(what, part, too_few))
        return fmt::format("{} takes {} {}, and got {}", part[1].str(), part[2].str(),
                           part[2] == "1" ? "value" : "values", part[3].str());
    if (std::regex_match(what, part, excludes))
        return fmt::format("{} and {} exclude each other: give one of them", part[2].str(), part[1].str());
    if (std::regex_match(what, part, needs))
        return fmt::format("{} changes nothing without {}", part[1].str(), part[2].str());
    return what;
}

}  // namespace

std::string explain(const CLI::ParseError& error, const CLI::App& program) {
    const CLI::App& app = innermost(program);
    const std::vector<std::string> words = program.remaining(true);
    std::string example;
    const std::string unknown = no_such_options(words, app);
    std::string what = explain_wrong_value(app);
    if (what.empty()) what = about_value(error.what(), app);
    if (dynamic_cast<const CLI::RequiredError*>(&error)) {
        what = app.get_require_subcommand_min() > 0
                   ? fmt::format("{} needs one of: {}", full_name(app), fmt::join(commands_of(app), " "))
                   : not_given(app);
        example = example_of_help(app);
        if (!unknown.empty()) what = unknown + "; " + what;  // perhaps a misspelt form of the missing option
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) && !words.empty()) {
        const std::string near = nearest_name(words.front(), commands_of(app));
        what = !unknown.empty()
                   ? unknown
                   : fmt::format("not expected: {}{}", fmt::join(words, " "),
                                 near.empty() ? "" : fmt::format(": did you mean {} {}?", full_name(app), near));
    }
    return fmt::format("{} ({} --help explains){}", what, full_name(app), example);
}

std::string explain_wrong_value(const CLI::App& command) {
    for (const CLI::App* nested : command.get_subcommands())
        if (const std::string message = explain_wrong_value(*nested); !message.empty()) return message;
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_positional()) continue;
        const std::vector<std::string> values = option->results();
        if (option->get_items_expected_min() > 0 && std::ranges::find(values, "") != values.end())
            return fmt::format("{} has an empty value: give one, or leave the flag out", option->get_name());
        // CLI11 accepts nan within any limits. An option without limits uses nan for auto.
        if (option->get_type_name().starts_with("FLOAT:FLOAT in ["))
            for (const std::string& value : values)
                if (std::isnan(std::strtod(value.c_str(), nullptr)))
                    return fmt::format("{} must be a number, and is {}", option->get_name(), value);
        if (option->get_items_expected_max() > 0) continue;
        // CLI11 reads any number as the value of a flag: --follow=1e308.
        for (const std::string& value : values)
            if (value != "true" && value != "false")
                return fmt::format("{} takes no value, and got {}", option->get_name(), value);
    }
    return "";
}

std::string explain_no_command(const std::string& word, const CLI::App& program) {
    const std::vector<std::string> commands = commands_of(program);
    std::string near = nearest_name(word, commands);
    if (word == "preview") near = "localize MOVIE --preview FRAME";
    if (word == "frc" || word == "nena") near = "resolution";
    return fmt::format("there is no command {}{} Commands are: {} ({} --help explains)", word,
                       near.empty() ? "." : fmt::format(": did you mean {} {}?", program.get_name(), near),
                       fmt::join(commands, " "), program.get_name());
}

}  // namespace glint::cli
