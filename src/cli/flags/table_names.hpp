// Names of the files in which tables of localizations, and movies, are.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint::cli {

/// Returns the endings of all formats, for completion.
const std::vector<std::string>& table_endings();

/// Returns the endings of movies, for completion. Most files with the ending of a table are tables.
std::vector<std::string> offered_movie_endings();

/// Returns the default endings of the tables that glint writes: ".hdf5, .csv".
std::string written_tables();

/// A text in which {written} is ".hdf5 Picasso, .csv ThunderSTORM", and {readable} "Picasso .hdf5, ThunderSTORM .csv", of all formats.
std::string with_table_names(std::string text);

}  // namespace glint::cli
