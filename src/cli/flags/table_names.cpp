// Names of the files in which tables of localizations, and movies, are.
// SPDX-License-Identifier: MIT
#include "cli/flags/table_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "glint/localization_io.hpp"
#include "glint/movie_formats.hpp"

namespace glint::cli {
namespace {

template <class ToText>
std::string listed(bool written_alone, ToText text_of) {
    std::vector<std::string> texts;
    for (const LocalizationFormat& format : localization_formats())
        if (format.is_written || !written_alone) texts.push_back(text_of(format));
    return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

const std::vector<std::string>& table_endings() {
    static const std::vector<std::string> endings = [] {
        std::vector<std::string> all;
        for (const LocalizationFormat& format : localization_formats())
            for (const std::string& ending : format.endings)
                // A longer ending is offered by the one that it ends in.
                if (std::none_of(all.begin(), all.end(), [&](const std::string& one) { return ending.ends_with(one); }))
                    all.push_back(ending);
        return all;
    }();
    return endings;
}

std::vector<std::string> offered_movie_endings() {
    std::vector<std::string> endings = movie_endings();
    std::erase_if(endings, [](const std::string& ending) {
        const std::vector<std::string>& of_tables = table_endings();
        return std::find(of_tables.begin(), of_tables.end(), ending) != of_tables.end();
    });
    return endings;
}

std::string written_tables() {
    return listed(true, [](const LocalizationFormat& format) { return format.endings.front(); });
}

std::string with_table_names(std::string text) {
    const auto put = [&](std::string_view name, const std::string& names) {
        if (const std::size_t at = text.find(name); at != text.npos) text.replace(at, name.size(), names);
    };
    put("{written}", listed(true, [](const LocalizationFormat& format) {
            return fmt::format("{} {}", format.endings.front(), format.name);
        }));
    put("{readable}", listed(false, [](const LocalizationFormat& format) {
            return fmt::format("{} {}", format.name, format.endings.front());
        }));
    return text;
}

}  // namespace glint::cli
