// Stores the choices of an option in the name of a check that accepts every value, since CLI11 has no field for them.
// SPDX-License-Identifier: MIT
#include "cli/flags/choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace glint::cli {
namespace {

constexpr const char* words_are = "words:";
constexpr const char* files_are = "files:";
constexpr const char* folders_are = "folders:";

/// Names of checks, unlike their descriptions, do not appear in the help.
CLI::Option* note(CLI::Option* option, const std::string& name) {
    return option->check(CLI::Validator([](std::string&) { return std::string(); }, "", name));
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

void take(const CLI::Validator& check, Choices& choices) {
    const std::string name = check.get_name(), about = check.get_description();
    if (name.starts_with(words_are)) choices.words = split(name.substr(std::string(words_are).size()));
    if (name.starts_with(files_are)) choices.endings = split(name.substr(std::string(files_are).size()));
    if (name == folders_are) choices.folders = true;
    if (about.starts_with('{') && about.ends_with('}')) choices.words = split(about.substr(1, about.size() - 2));
}

}  // namespace

CLI::Option* offer_words(CLI::Option* option, const std::vector<std::string>& words) {
    return note(option, fmt::format("{}{}", words_are, fmt::join(words, ",")));
}

CLI::Option* offer_files(CLI::Option* option, const std::vector<std::string>& endings) {
    return note(option->type_name("FILE"), fmt::format("{}{}", files_are, fmt::join(endings, ",")));
}

CLI::Option* offer_folders(CLI::Option* option) { return note(option->type_name("FOLDER"), folders_are); }

Choices choices_of(CLI::Option& option) {
    Choices choices;
    try {
        for (int k = 0;; ++k) take(*option.get_validator(k), choices);
    } catch (const CLI::OptionNotFound&) {  // the only way in which CLI11 reports the end
    }
    return choices;
}

}  // namespace glint::cli
