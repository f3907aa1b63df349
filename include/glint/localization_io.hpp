// Reads and writes tables of localizations, in the formats of localization_formats() (docs/reference/formats.md).
//
//     const glint::Warn warn = [](const std::string& message) { std::fprintf(stderr, "%s\n", message.c_str()); };
//     glint::Localizations table = glint::read_localizations("thunderstorm.csv", warn, 100);  // pixels of 100 nm
//     std::printf("%zu localizations in %lld frames\n", table.size(), (long long)table.frames);
//     glint::write_localizations("picasso.hdf5", table, warn);  // the ending selects the format
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glint/if_exists.hpp"
#include "glint/localizations.hpp"
#include "glint/progress.hpp"

namespace glint {

/// A format of tables of localizations.
struct LocalizationFormat {
    std::string name;                  ///< of the program or format: "Picasso"
    std::vector<std::string> endings;  ///< of file names, the default first: ".hdf5", ".h5"
    bool is_written = false;           ///< glint reads all formats, and writes this one too
    std::string cannot_hold;           ///< what is lost when a table is written; empty: nothing
};

/// Returns all formats, in the order in which a file is compared with them.
const std::vector<LocalizationFormat>& localization_formats();

/// Returns the format in which a file of this name is written: the one with the longest matching ending. Throws
/// OptionError if there is none, or if glint only reads it.
const LocalizationFormat& localization_format(const std::filesystem::path& path);

/// Returns the part of the name that selects the format, e.g. ".csv" or "_smlm.h5". Throws as localization_format().
std::string localization_ending(const std::filesystem::path& path);

/// Returns the files that writing a table to `path` creates: the file itself and, in Picasso's format, its `.yaml`.
/// Throws as localization_format().
std::vector<std::filesystem::path> files_of_localizations(const std::filesystem::path& path);

/// Information that a text table lacks. Other formats ignore it, with a warning.
struct TextConventions {
    /// The number of the movie's first frame: 0 or 1. If empty it is inferred, with a warning if it is uncertain.
    std::optional<int> first_frame;
    /// {"bg", "Background"}: a column of Localizations, and its header in the file. Add the unit to the column if the
    /// header lacks it: "x [px]".
    std::map<std::string, std::string> columns;
};

/// Reads a file of any of the formats, recognised by content. `pixel_size_nm` is used if the file does not contain it.
///
/// Returns the table. Drops rows with NaN or infinity in a column of Localizations, as Picasso does, and reports their
/// number to `warn`. Keeps other numeric columns in `extra`, and reports omitted columns to `warn`.
///
/// Throws
/// - InputError if the file cannot be read, has no localizations, or lacks a column or memory for all rows
/// - OptionError if `pixel_size_nm` is needed but missing (a ThunderSTORM CSV is in nanometres), or `text` is invalid
Localizations read_localizations(const std::filesystem::path& path, const Warn& warn = {}, double pixel_size_nm = 0,
                                 const TextConventions& text = {});

/// Returns only the processing steps of a localization file (Localizations::history). Empty if the format has none, as
/// a .csv. Throws InputError if the file cannot be read or has no localizations.
std::vector<std::string> read_history(const std::filesystem::path& path);

/// Writes a whole table in the format of its name. The file (and its `.yaml`) appear under their final names only when
/// complete. Returns LocalizationWriter::hidden_rows(). Throws OutputError if the file cannot be written, and
/// OptionError as localization_format() or if columns have different lengths.
std::size_t write_localizations(const std::filesystem::path& path, const Localizations& localizations,
                                const Warn& warn = {}, IfExists if_exists = IfExists::replace);

/// Writes a table piece by piece, with constant memory and all threads.
///
///     glint::LocalizationWriter writer("all.hdf5", first, first.size() + second.size());
///     writer.append(first);
///     writer.append(second);
///     writer.close();
class LocalizationWriter {
  public:
    /// `like` has the non-empty columns and the metadata of every piece, e.g. the first piece; its rows are not
    /// written. `rows`: total number of rows. Throws OutputError if the file cannot be created, and OptionError if
    /// `like` has no rows although `rows` is above 0.
    LocalizationWriter(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                       const Warn& warn = {}, IfExists if_exists = IfExists::replace);
    ~LocalizationWriter();
    /// Appends rows. Throws OutputError if they cannot be written, and OptionError if the columns are not those of
    /// `like`, or there are more rows than announced.
    void append(const Localizations& piece);
    /// Completes the file and gives it its final name. Without close(), the destructor leaves no file. Throws
    /// OutputError if the file cannot be written, and OptionError if there are fewer rows than announced.
    void close();
    /// Returns, after close(), the number of rows that the format's own programs drop on reading. Picasso drops rows
    /// with negative values, and x or y below 0 (the outer half of the first pixel) or beyond the movie.
    std::size_t hidden_rows() const;

    struct Format;

  private:
    std::unique_ptr<Format> format_;
};

/// Returns the ground truth for score(), from
/// - a file of `glint simulate`: CSV with the columns frame, x_nm, y_nm and optionally z_nm, photons,
/// - a CSV of the SMLM challenges: id, frame (from 1), x, y in nm from the outer edge of the first pixel, or
/// - a localization file.
///
/// `pixel_size_nm` converts nm to px; 0: as in the file. Throws InputError if the file cannot be read or is none of
/// these.
Localizations read_truth(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn = {},
                         const TextConventions& text = {});

/// Writes ground truth in the format of `glint simulate`. Throws OutputError if the file cannot be written.
void write_truth(const std::filesystem::path& path, const Localizations& truth, IfExists if_exists = IfExists::replace);

}  // namespace glint
