// Interface of a file format of localizations: a row of table_formats(), with functions that recognise, open and write
// it.
// SPDX-License-Identifier: MIT
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "glint/localization_io.hpp"
#include "io/localization_builder.hpp"

namespace glint {

/// A file being written. `append` receives pieces with the columns of its `like`.
struct LocalizationWriter::Format {
    virtual ~Format() = default;
    virtual void append(const Localizations& piece) = 0;
    virtual void close() = 0;
    /// See LocalizationWriter.
    virtual std::size_t hidden_rows() const { return 0; }
};

/// The options of all writers.
struct Target {
    IfExists if_exists = IfExists::replace;
    Warn warn;
    bool sees_all = false;  ///< `like` has each column's minimum and maximum: integers may be as narrow as these allow
};

/// Returns the warning about values that readers would reject.
std::string text_of_zeros(const std::filesystem::path& path, std::size_t values);

using FormatWriter = std::unique_ptr<LocalizationWriter::Format>;

/// `like` must have at least one row, so that its columns are known; `rows` may nevertheless be 0.
FormatWriter write_picasso(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                           const Target& target);
FormatWriter write_thunderstorm(const std::filesystem::path& path, const Localizations& like, const Target& target);
FormatWriter write_all_columns(const std::filesystem::path& path, const Localizations& like, const Target& target);
FormatWriter write_smap_csv(const std::filesystem::path& path, const Localizations& like, const Target& target);
FormatWriter write_smap_mat(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                            const Target& target);
FormatWriter write_smlm_zip(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                            const Target& target);
FormatWriter write_smlm(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                        const Target& target);

/// Returns the names of the columns that have values.
std::set<std::string> columns_with_values(const Localizations& table);
/// Returns the columns that the format cannot store.
std::vector<std::string> left_out_of_thunderstorm(const Localizations& like);
std::vector<std::string> left_out_of_all_columns(const Localizations& like);
/// Like left_out_of_thunderstorm(), for SMAP's CSV and its .mat.
std::vector<std::string> left_out_of_smap(const Localizations& like);
std::vector<std::string> left_out_of_smlm_zip(const Localizations& like);
std::vector<std::string> left_out_of_smlm(const Localizations& like);

/// A table in a file, read from its first row to its last, as often as needed. The constructor announces the columns.
struct TableFile {
    TableFile(const std::filesystem::path& file, const Warn& warn_of)
        : path(file), warn(warn_of), builder(file.string(), warn) {}
    virtual ~TableFile() = default;
    TableFile(const TableFile&) = delete;
    TableFile& operator=(const TableFile&) = delete;

    virtual void restart() = 0;
    /// Adds at most `most` next rows to the builder. Returns their number; fewer only at the end of the file.
    virtual std::size_t add_rows(std::size_t most) = 0;

    std::filesystem::path path;
    Warn warn;
    LocalizationBuilder builder;
    std::optional<std::size_t> rows;  ///< number in the file; nullopt: unknown until they are read
    std::size_t likely_rows = 0;      ///< of a text, by its bytes
    Localizations about;              ///< without rows: the file's facts about its movie, and the history
    bool is_text = false;  ///< only reading all rows shows which columns hold numbers, and which only whole numbers
    int first_frame = 0;   ///< by the format: 0; or 1, unless there is a frame 0
    bool is_first_frame_known = true;     ///< otherwise a warning gives the assumed number
    std::string origin;                   ///< of a text: the origin of its positions, for that warning
    std::vector<std::string> tell_apart;  ///< several values in such a column are rows of several measurements
    std::vector<std::string> idle;        ///< columns whose absence means the same as one value in all rows
};
using OpenTable = std::unique_ptr<TableFile>;

/// Opens Picasso's HDF5. `pixel_size_nm`: used if the file has none; 0 if unknown.
OpenTable open_picasso(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn);
OpenTable open_csv(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn,
                   const TextConventions& text);
OpenTable open_smlm(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn);
/// Opens SMAP's .mat files: version 7.3, which is HDF5, and 5 to 7.
OpenTable open_smap_hdf5(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn);
OpenTable open_smap_mat5(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn);
OpenTable open_smlm_zip(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn,
                        const TextConventions& text);
/// Recognises the file by its content.
bool is_smap_mat5(const std::filesystem::path& path);
bool is_smlm_zip(const std::filesystem::path& path);

/// The parts of a file by which its format is recognised.
struct TableContent {
    const std::filesystem::path& path;
    hid_t hdf5;                  ///< the open file; negative: not an HDF5 file
    std::string_view beginning;  ///< its first bytes, 4096 at most
};

/// A format of tables. To add one, write a file that defines it, and add a line to table_formats.cpp.
struct TableFormat {
    const char* name;
    std::vector<std::string> endings;  ///< the default first
    bool (*is)(const TableContent& content);
    OpenTable (*open)(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn,
                      const TextConventions& text);

    // Null for formats that are only read.
    FormatWriter (*write)(const std::filesystem::path& path, const Localizations& like, std::size_t rows,
                          const Target& target) = nullptr;
    std::vector<std::string> (*left_out)(const Localizations& like) = nullptr;  ///< null: it holds all columns
    const char* cannot_hold = "";  ///< what it cannot hold, in words for a message
    const char* companion = "";    ///< ending of the second file that is written
    bool in_one_pass = false;      ///< its writer needs neither the number of rows nor their range
    std::vector<std::string> (*history)(const std::filesystem::path& path,
                                        hid_t hdf5) = nullptr;  ///< null: not supported
};
const std::vector<TableFormat>& table_formats();

constexpr double any_pixel_nm = 100;  ///< if lengths are not used
/// Implements TableFormat::history for a format whose file must be opened to read it.
template <auto open>
std::vector<std::string> history_in(const std::filesystem::path& path, hid_t) {
    return open(path, any_pixel_nm, {}, {})->about.history;
}

/// See localization_format().
const TableFormat& written_format(const std::filesystem::path& path);

/// Opens a table of any format, recognised by its content.
OpenTable open_table(const std::filesystem::path& path, double pixel_size_nm, const Warn& warn,
                     const TextConventions& text = {});

/// Returns the processing steps in an open file, or beside it.
std::vector<std::string> picasso_history(const std::filesystem::path& path, hid_t file, const Warn& warn = {});
std::vector<std::string> smlm_history(const std::filesystem::path& path, hid_t file, const Warn& warn = {});

/// Sets unknown (0) width, height and frames to the smallest values that hold all rows.
void fill_unknown_extent(Localizations& localizations);

}  // namespace glint
