// Localizations from and to files: Picasso HDF5+YAML, ThunderSTORM CSV, SMLMAnalysis HDF5 (docs/formats.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>

#include "glint/localizations.hpp"
#include "glint/progress.hpp"

namespace glint {

enum class LocalizationFormat { picasso_hdf5, thunderstorm_csv, smlm_hdf5 };

/// From the name: `.csv` ThunderSTORM, `.smlm.h5` and `_smlm.h5` SMLMAnalysis, `.hdf5` and `.h5` Picasso.
/// Throws OptionError otherwise.
LocalizationFormat localization_format(const std::filesystem::path& path);

/// Reads any of the three, told apart by content. Rows with NaN or infinity in a column of Localizations' own
/// are left out and `warn` says how many (Picasso drops them too); unknown columns are kept in `extra`
/// (numeric) or named to `warn`. `pixel_size_nm` is used where the file does not tell it: a ThunderSTORM CSV,
/// in nanometres, cannot be read without (OptionError). Throws InputError.
Localizations read_localizations(const std::filesystem::path& path, const Warn& warn = {}, double pixel_size_nm = 0);

/// Writes a whole table. The file (and its `.yaml`) appear under their final names only when complete. `warn`
/// hears of rows that the format's readers will not show (x < 0 in Picasso). Throws OutputError.
void write_localizations(const std::filesystem::path& path, const Localizations& localizations, const Warn& warn = {});

/// Writes a table that comes in pieces, in memory that does not grow with it.
class LocalizationWriter {
  public:
    /// `like`: the set of non-empty columns and the metadata of every piece (its rows are not written; the
    /// first piece is fine); `rows`: how many will come in all. Throws OutputError when the file cannot be
    /// made.
    LocalizationWriter(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                       const Warn& warn = {});
    ~LocalizationWriter();
    void append(const Localizations& piece);
    /// Completes the file and gives it its final name. Throws OutputError; a writer not closed leaves
    /// nothing.
    void close();

    struct Format;

  private:
    std::unique_ptr<Format> format_;
};

/// Ground truth for `score`: a truth file that `simulate` wrote (CSV with a header line naming frame, x_nm,
/// y_nm, optionally z_nm, photons), or any CSV of id, frame (from 1), x, y in nm from the outer edge of the
/// first pixel (as the SMLM challenge and its kin use), or a localization file. `pixel_size_nm` converts; 0
/// takes the file's.
Localizations read_truth(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn = {});
void write_truth(const std::filesystem::path& path, const Localizations& truth);

}  // namespace glint
