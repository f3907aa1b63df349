// What a file format of localizations has to provide: one reader, one writer.
// SPDX-License-Identifier: MIT
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <memory>

#include "glint/localization_io.hpp"

namespace glint {

/// A file being written. `append` receives pieces with the columns of the `like` it was made with.
struct LocalizationWriter::Format {
    virtual ~Format() = default;
    virtual void append(const Localizations& piece) = 0;
    virtual void close() = 0;
    /// As LocalizationWriter's.
    virtual std::size_t hidden_rows() const { return 0; }
};

/// The options of all writers.
struct Target {
    IfExists if_exists = IfExists::replace;
    Warn warn;
};

using FormatWriter = std::unique_ptr<LocalizationWriter::Format>;

/// `like` has at least one row, so that its columns are known; `rows` may be 0 all the same.
FormatWriter write_picasso(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                           const Target& target);
FormatWriter write_thunderstorm(const std::filesystem::path& path, const Localizations& like, const Target& target);
FormatWriter write_smlm(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                        const Target& target);

/// `pixel_size_nm`: used where the file does not tell; 0 when unknown.
Localizations read_picasso(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn);
Localizations read_csv(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn);
Localizations read_smlm(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn);

/// The processing steps in an open file, or beside it; none where there are none.
std::vector<std::string> picasso_history(const std::filesystem::path& path, hid_t file, const Warn& warn = {});
std::vector<std::string> smlm_history(const std::filesystem::path& path, hid_t file, const Warn& warn = {});

/// Width, height and frames from the rows where they are unknown (0): the smallest that hold them all.
void fill_unknown_extent(Localizations& localizations);

}  // namespace glint
