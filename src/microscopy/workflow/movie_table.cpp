// Reads a table of movies and their conditions.
// SPDX-License-Identifier: MIT
#include "workflow/movie_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "glint/error.hpp"
#include "io/csv/lines.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

std::string small_letters(std::string_view text) {
    std::string to(text);
    for (char& c : to) c = char(std::tolower(static_cast<unsigned char>(c)));
    return to;
}

std::size_t column_of(const std::vector<std::string_view>& header, const char* name, const fs::path& file) {
    const auto found = std::ranges::find_if(header, [&](std::string_view cell) { return small_letters(cell) == name; });
    if (found == header.end())
        throw InputError(
            fmt::format("{}: the first line names no column \"{}\": a table of movies has the columns movie "
                        "and condition, as in \"movie,condition\"",
                        file.string(), name));
    return std::size_t(found - header.begin());
}

}  // namespace

bool is_movie_table(const std::string& file) { return small_letters(fs::path(file).extension().string()) == ".csv"; }

std::vector<ListedMovie> read_movie_table(const fs::path& file) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    CsvLines lines(file);
    std::vector<std::string_view> cells;
    std::vector<std::string> scratch;
    std::string_view line;
    if (!lines.next(line)) throw InputError(fmt::format("{}: the table of movies is empty", file.string()));
    if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
    const char separator = separator_of(line);
    split_csv(line, cells, scratch, separator);
    const std::size_t columns = cells.size(), movie = column_of(cells, "movie", file),
                      condition = column_of(cells, "condition", file);
    std::vector<ListedMovie> to;
    std::set<std::string> listed;
    while (lines.next(line)) {
        if (line.find_first_not_of(" \t,;") == line.npos) continue;
        split_csv(line, cells, scratch, separator);
        const auto refuse = [&](const std::string& why) {
            throw InputError(fmt::format("{}: line {}: {}", file.string(), lines.number(), why));
        };
        if (cells.size() != columns)
            refuse(fmt::format("{} cells, where the first line has {}", cells.size(), columns));
        if (cells[movie].empty()) refuse("no movie");
        if (cells[condition].empty()) refuse(fmt::format("{} has no condition", cells[movie]));
        const fs::path path = (file.parent_path() / fs::path(cells[movie])).lexically_normal();
        if (!listed.insert(path.string()).second) refuse(fmt::format("{} is listed twice", cells[movie]));
        to.push_back({path.string(), std::string(cells[condition])});
    }
    if (to.empty()) throw InputError(fmt::format("{}: the table lists no movies", file.string()));
    return to;
}

}  // namespace glint
