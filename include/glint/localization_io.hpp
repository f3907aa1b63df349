// Reads and writes tables of localizations, in the formats of localization_formats() (docs/reference/formats.md).
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
    bool is_written = false;           ///< by write_localizations(); all are read
    std::string cannot_hold;           ///< what is lost when a table is written; empty: nothing
};

/// Returns all formats, in the order in which a file is compared with them.
const std::vector<LocalizationFormat>& localization_formats();

/// Returns the format to write a file of this name in: that with the longest ending that fits. Throws OptionError
/// if there is none, or if glint only reads it.
const LocalizationFormat& localization_format(const std::filesystem::path& path);

/// Returns the part of the name that selects the format, e.g. ".csv" or "_smlm.h5". Throws as
/// `localization_format`.
std::string localization_ending(const std::filesystem::path& path);

/// Returns the files that writing a table to `path` creates: the file itself and, in Picasso's format, its `.yaml`.
std::vector<std::filesystem::path> files_of_localizations(const std::filesystem::path& path);

/// What a text table does not say itself. Other formats ignore it, with a warning.
struct TextConventions {
    /// The number of the movie's first frame: 0 or 1. If empty it is inferred, with a warning if it is uncertain.
    std::optional<int> first_frame;
    /// {"bg", "Background"}: the table's column, with its unit if the file's header lacks it ("x [px]"), and the file's
    /// header.
    std::map<std::string, std::string> columns;
};

/// Reads any of the formats, recognised by content. Rows with NaN or infinity in a column of Localizations are
/// dropped and counted by `warn` (Picasso drops them, too). Unknown numeric columns are kept in `extra`; others are
/// named by `warn`. `pixel_size_nm` is used if the file does not contain it; a ThunderSTORM CSV, in nanometres,
/// requires it (OptionError). Throws InputError.
Localizations read_localizations(const std::filesystem::path& path, const Warn& warn = {}, double pixel_size_nm = 0,
                                 const TextConventions& text = {});

/// Reads only the processing steps of a localization file (Localizations::history); empty if it has none, like a .csv.
/// Throws InputError.
std::vector<std::string> read_history(const std::filesystem::path& path);

/// Writes a whole table. The file (and its `.yaml`) appear under their final names only when complete. Returns
/// LocalizationWriter::hidden_rows(). Throws OutputError.
std::size_t write_localizations(const std::filesystem::path& path, const Localizations& localizations,
                                const Warn& warn = {}, IfExists if_exists = IfExists::replace);

/// Writes a table piece by piece, with constant memory, by all threads.
class LocalizationWriter {
  public:
    /// `like` has the non-empty columns and the metadata of every piece, e.g. the first piece; its rows are not
    /// written. `rows`: total number of rows. Throws OutputError if the file cannot be created.
    LocalizationWriter(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                       const Warn& warn = {}, IfExists if_exists = IfExists::replace);
    ~LocalizationWriter();
    void append(const Localizations& piece);
    /// Completes the file and gives it its final name. Throws OutputError. A writer that is destroyed without it leaves
    /// no file.
    void close();
    /// After close(): returns the number of rows that the format's own programs drop on reading. Picasso regards x
    /// or y below 0 (the outer half of the first pixel) or beyond the movie as errors, and negative values.
    std::size_t hidden_rows() const;

    struct Format;

  private:
    std::unique_ptr<Format> format_;
};

/// Reads ground truth for `score`: a file of `simulate` (CSV with a header that names frame, x_nm, y_nm, optionally
/// z_nm, photons), a CSV of id, frame (from 1), x, y in nm from the outer edge of the first pixel (as in the SMLM
/// challenges), or a localization file. `pixel_size_nm` converts nm to px; 0: the file's own. Throws InputError.
Localizations read_truth(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn = {},
                         const TextConventions& text = {});
void write_truth(const std::filesystem::path& path, const Localizations& truth, IfExists if_exists = IfExists::replace);

}  // namespace glint
