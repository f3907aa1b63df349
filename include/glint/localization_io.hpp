// Localizations from and to files: Picasso HDF5+YAML, ThunderSTORM CSV, SMLMAnalysis HDF5 (docs/formats.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "glint/if_exists.hpp"
#include "glint/localizations.hpp"
#include "glint/progress.hpp"

namespace glint {

enum class LocalizationFormat { picasso_hdf5, thunderstorm_csv, smlm_hdf5 };

/// From the name: `.csv` ThunderSTORM; `.smlm.h5`, `_smlm.h5`, `.smlm.hdf5`, `_smlm.hdf5` SMLMAnalysis; `.hdf5` and
/// `.h5` Picasso. Throws OptionError otherwise.
LocalizationFormat localization_format(const std::filesystem::path& path);

/// The part of the name that tells the format, as ".csv" or "_smlm.h5". Throws as `localization_format`.
std::string localization_ending(const std::filesystem::path& path);

/// What writing a table to `path` makes: the file, and with Picasso's format its `.yaml`.
std::vector<std::filesystem::path> files_of_localizations(const std::filesystem::path& path);

/// Reads any of the three, told apart by content. Rows with NaN or infinity in a column of Localizations' own
/// are left out and `warn` says how many (Picasso drops them too); unknown columns are kept in `extra`
/// (numeric) or named to `warn`. `pixel_size_nm` is used where the file does not tell it: a ThunderSTORM CSV,
/// in nanometres, cannot be read without (OptionError). Throws InputError.
Localizations read_localizations(const std::filesystem::path& path, const Warn& warn = {}, double pixel_size_nm = 0);

/// The processing steps that a file of localizations tells (Localizations::history), without its rows; none where it tells
/// none, as a .csv does. Throws InputError.
std::vector<std::string> read_history(const std::filesystem::path& path);

/// Writes a whole table. The file (and its `.yaml`) appear under their final names only when complete. Returns the
/// writer's `hidden_rows`. Throws OutputError.
std::size_t write_localizations(const std::filesystem::path& path, const Localizations& localizations,
                                const Warn& warn = {}, IfExists if_exists = IfExists::replace);

/// Writes a table that comes in pieces, in memory that does not grow with it.
class LocalizationWriter {
  public:
    /// `like`: the set of non-empty columns and the metadata of every piece (its rows are not written; the
    /// first piece is fine); `rows`: how many will come in all. Throws OutputError when the file cannot be
    /// made.
    LocalizationWriter(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                       const Warn& warn = {}, IfExists if_exists = IfExists::replace);
    ~LocalizationWriter();
    void append(const Localizations& piece);
    /// Completes the file and gives it its final name. Throws OutputError; a writer not closed leaves
    /// nothing.
    void close();
    /// Rows so far that are in the file and that the format's own programs leave out when they read it: Picasso takes x or
    /// y below 0 (the outer half of the first pixel) or beyond the movie for errors, and negative values.
    std::size_t hidden_rows() const;

    struct Format;

  private:
    std::unique_ptr<Format> format_;
};

/// Ground truth for `score`: a truth file that `simulate` wrote (CSV with a header line naming frame, x_nm,
/// y_nm, optionally z_nm, photons), or any CSV of id, frame (from 1), x, y in nm from the outer edge of the
/// first pixel (as the SMLM challenge and its kin use), or a localization file. `pixel_size_nm` converts; 0
/// takes the file's.
Localizations read_truth(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn = {});
void write_truth(const std::filesystem::path& path, const Localizations& truth, IfExists if_exists = IfExists::replace);

}  // namespace glint
