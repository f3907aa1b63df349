// Tables of localizations on the command line: their names, and reading them in pieces, or some of their columns.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "glint/localization_reader.hpp"
#include "glint/progress.hpp"
#include "io/files/check_outputs.hpp"

namespace glint::cli {

/// Returns the endings of all formats, for completion.
const std::vector<std::string>& table_endings();

/// Returns the endings of movies, for completion. Most files with the ending of a table are tables.
std::vector<std::string> offered_movie_endings();

/// Returns the default endings of the tables that glint writes: ".hdf5, .csv".
std::string written_tables();

/// A text in which {written} is ".hdf5 Picasso, .csv ThunderSTORM", and {readable} "Picasso .hdf5, ThunderSTORM .csv", of all formats.
std::string with_table_names(std::string text);

/// The files that a table is read from, for check_outputs: with it the `.yaml` beside it, if there is one.
Paths files_of_table(const std::string& table);

/// Throws OptionError where a table says another size of its pixels than the one given (0: none).
void require_same_pixels(const std::string& file, double own_nm, double given_nm);

/// What a text table does not say itself.
struct TextTableFlags {
    std::string first_frame;
    std::vector<std::string> columns;
};
/// `prefix`: "truth-" of a second table.
void add_text_table_flags(CLI::App& app, TextTableFlags& flags, const std::string& prefix = {});
/// `prefix`: as above. Throws OptionError.
TextConventions text_conventions(const TextTableFlags& flags, const std::string& prefix = {});

/// `pixel_size_nm` is for a table that does not say it (0: not given); `piece_bytes` of several tables are those of one, shared out.
std::unique_ptr<LocalizationReader> open_table(const std::string& file, double pixel_size_nm,
                                               const TextTableFlags& text, Console& console, const StopFlag& stop,
                                               std::size_t piece_bytes = usual_piece_bytes);

/// The table with these columns alone, in memory for them and a piece.
Localizations read_columns(const std::string& file, double pixel_size_nm, const TextTableFlags& text, Console& console,
                           std::span<const std::string_view> columns, const StopFlag& stop);

}  // namespace glint::cli
