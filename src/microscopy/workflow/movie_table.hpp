// A table of movies and their conditions, instead of movies on the command line of `glint run`.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace glint {

struct ListedMovie {
    std::string movie;                     ///< as given; relative paths begin at the table's folder
    std::optional<std::string> condition;  ///< from a table; without one, the name of the movie's folder
};

/// Returns true if the name is that of a table: it ends in .csv, unlike any movie.
bool is_movie_table(const std::string& file);

/// Returns the rows of a table with the columns `movie` and `condition`, in any order. Other columns are ignored.
/// Commas, semicolons or tabs separate cells. Relative names of movies begin at the table's folder. Throws
/// InputError with the line.
std::vector<ListedMovie> read_movie_table(const std::filesystem::path& file);

}  // namespace glint
