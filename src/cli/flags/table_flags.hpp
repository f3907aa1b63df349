// Tables of localizations on the command line: names, and reading in pieces or of some columns.
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

/// Returns the endings of movies, for completion. Leaves out endings of tables, since most such files are tables.
std::vector<std::string> offered_movie_endings();

/// Returns the default endings of the tables that glint writes: ".hdf5, .csv".
std::string written_tables();

/// Replaces {written} by ".hdf5 Picasso, .csv ThunderSTORM, ..." and {readable} by "Picasso .hdf5, ThunderSTORM .csv,
/// ...", with all formats.
std::string with_table_names(std::string text);

/// Returns the files from which a table is read, for check_outputs(): the table, and the `.yaml` beside it if present.
Paths files_of_table(const std::string& table);

/// Throws OptionError if the pixel size of a table differs from the one given (0: not given).
void require_same_pixels(const std::string& file, double own_nm, double given_nm);

/// Properties that a text table does not contain itself.
struct TextTableFlags {
    std::string first_frame;
    std::vector<std::string> columns;
};
/// Adds the flags of a text table. `prefix` is "truth-" for a second table.
void add_text_table_flags(CLI::App& app, TextTableFlags& flags, const std::string& prefix = {});
/// Returns the values of the flags; `prefix` as above. Throws OptionError.
TextConventions text_conventions(const TextTableFlags& flags, const std::string& prefix = {});

/// Opens a table. `pixel_size_nm` is for a table without a pixel size (0: not given). Several open tables share the
/// `piece_bytes` of one.
std::unique_ptr<LocalizationReader> open_table(const std::string& file, double pixel_size_nm,
                                               const TextTableFlags& text, Console& console, const StopFlag& stop,
                                               std::size_t piece_bytes = default_piece_bytes);

/// Returns the table with only these columns. Needs memory for these columns and one piece of the table.
Localizations read_columns(const std::string& file, double pixel_size_nm, const TextTableFlags& text, Console& console,
                           std::span<const std::string_view> columns, const StopFlag& stop);

}  // namespace glint::cli
