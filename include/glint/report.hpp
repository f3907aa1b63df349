// Interactive reports: one HTML file with the localizations, their picture and their statistics
// (docs/how-to/report.md).
//
//     const glint::Localizations table = glint::read_localizations("movie.hdf5");
//     const glint::Resolution measured = glint::resolution(table);
//     glint::ReportOptions options;
//     options.tables = {"movie.hdf5"};
//     options.resolution = &measured;
//     const glint::ReportInfo info = glint::write_report("report.html", table, options);
//     std::printf("%zu of %zu rows, %.1f MB\n", info.stored_rows, info.rows, double(info.bytes) / 1e6);
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "glint/drift.hpp"
#include "glint/if_exists.hpp"
#include "glint/localizations.hpp"
#include "glint/movie.hpp"
#include "glint/progress.hpp"
#include "glint/resolution.hpp"
#include "glint/table_pieces.hpp"

namespace glint {

/// What a report contains besides its table. Pointers may be null, and are used only during write_report().
struct ReportOptions {
    std::string title;                ///< empty: the first of `tables`
    std::vector<std::string> tables;  ///< the files of the table, for the commands that the page shows
    /// Names of the channels, if the table has an integer column `channel` with their numbers from 0.
    std::vector<std::string> channels;
    double size_mb = 80;     ///< limit of the file's localizations, MB (10^6 bytes); above it, the page has a sample
    Movie* movie = nullptr;  ///< for raw frames
    int raw_frames = 20;     ///< maximum number of raw frames, evenly spaced; 0 to 100
    double frames_mb = 6;    ///< limit of all raw frames, MB; larger frames are cropped
    const Resolution* resolution = nullptr;  ///< NeNA and FRC of the whole table
    const Drift* drift = nullptr;            ///< the drift that was subtracted from the positions
    std::string record;                      ///< the record of a run (run.json), a JSON object; empty: none
    std::vector<std::string> warnings;       ///< sentences that the page shows first
    const StopFlag* stop = nullptr;          ///< after a stop, no file is written
};

/// The result of write_report().
struct ReportInfo {
    std::size_t rows = 0;         ///< rows of the table with a position
    std::size_t stored_rows = 0;  ///< rows in the file; fewer if the page has a sample
    std::uint64_t bytes = 0;      ///< size of the file
    std::uint64_t row_bytes = 0;  ///< bytes of the localizations in the file, with their text encoding
    int raw_frames = 0;
    std::vector<std::string> missing;  ///< sentences: what the page lacks, and why
};

/// Writes a page that needs no network and no other file. Positions are rounded to at most 1/8 of the median
/// precision, other columns to about 90 steps. A filter of the page therefore has its limits between steps: the same
/// conditions in filter() leave exactly the same rows. A sample is random and independent of positions and frames.
///
/// Returns what the file contains. Needs memory for the stored rows, about 40 bytes per row, and for the file. The file
/// appears only when complete. Throws
/// - OptionError if an option is out of range, or the file exists and must be kept
/// - OutputError if the file cannot be written
/// - InputError if the movie or the table cannot be read
/// - Cancelled after a stop
ReportInfo write_report(const std::filesystem::path& path, TablePieces& table, const ReportOptions& options,
                        IfExists if_exists = IfExists::replace);
/// Returns the result of write_report() for a table in memory. Throws as that.
ReportInfo write_report(const std::filesystem::path& path, const Localizations& table, const ReportOptions& options,
                        IfExists if_exists = IfExists::replace);

}  // namespace glint
