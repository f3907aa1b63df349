// Detects a file's format, and contains the parts of writing that all formats share.
// SPDX-License-Identifier: MIT
#include "glint/localization_io.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "data/table_facts.hpp"
#include "glint/error.hpp"
#include "glint/localization_reader.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/file.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// Ignores case: Windows and cameras prefer .HDF5 and .CSV.
bool ends_with(const std::string& text, std::string_view end) {
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
    return text.size() > end.size() &&
           std::equal(text.end() - std::ptrdiff_t(end.size()), text.end(), end.begin(), same);
}

struct Ending {
    std::string_view text;
    const TableFormat* format = nullptr;
};

/// Prefers the longest ending: ".smlm.h5" to ".h5".
Ending longest_ending(const fs::path& path) {
    const std::string name = path.filename().string();
    Ending longest;
    for (const TableFormat& format : table_formats())
        for (const std::string& ending : format.endings)  // if two formats share an ending, the first one
            if (ending.size() > longest.text.size() && ends_with(name, ending)) longest = {ending, &format};
    return longest;
}

Ending ending_of(const fs::path& path) {
    const Ending ending = longest_ending(path);
    if (ending.format && ending.format->write) return ending;
    std::vector<std::string> written;
    for (const TableFormat& format : table_formats())
        if (format.write) written.push_back(fmt::format("{} ({})", format.endings.front(), format.name));
    const std::string last = std::move(written.back());
    written.pop_back();
    throw OptionError(fmt::format(
        "{}: {}: end it in {} or {}", path.string(),
        ending.format ? fmt::format("glint reads tables of {}, and does not write them", ending.format->name)
                      : "no format of localizations has such a name",
        fmt::join(written, ", "), last));
}

void require_file(const fs::path& path) {
    std::error_code failed;
    const fs::file_status status = fs::status(path, failed);
    if (!fs::exists(status)) throw InputError(fmt::format("{} does not exist", path.string()));
    if (!fs::is_regular_file(status)) throw InputError(fmt::format("{} is not a file", path.string()));
    if (fs::file_size(path, failed) == 0) throw InputError(fmt::format("{} is empty", path.string()));
}

/// An open file, and the parts of it that are compared with the formats.
struct Content {
    explicit Content(const fs::path& file) : path(file) {
        if (H5Fis_hdf5(file.c_str()) > 0) hdf5 = hdf5::open_file(file);
        std::ifstream in(file, std::ios::binary);
        if (!in) throw_cannot_open(file.string(), errno);
        beginning.resize(4096);
        in.read(beginning.data(), std::streamsize(beginning.size()));
        beginning.resize(std::size_t(in.gcount()));
    }
    TableContent view() const { return {path, hdf5, beginning}; }

    const fs::path& path;
    hdf5::Handle hdf5;
    std::string beginning;
};

/// Returns the format of a file. Throws InputError if there is none.
const TableFormat& format_of(const Content& content) {
    for (const TableFormat& format : table_formats())
        if (format.is(content.view())) return format;
    std::string found;
    if (content.hdf5.valid())
        for (const std::string& name : hdf5::names_in(content.hdf5)) found += " /" + name;
    throw InputError(fmt::format(
        "{} holds no localizations: it has none of the tables of Picasso (/locs), SMLMAnalysis (/emitters), SMAP "
        "(/saveloc), DECODE (/data/xyz), storm-analysis (/fr_0) and PYME (/FitResults), but{}",
        content.path.string(), found.empty() ? " nothing" : found));
}

bool all_as_long_as(const Localizations& table) {
    const std::size_t n = table.size();
    const auto fits = [n](const auto& values) { return values.empty() || values.size() == n; };
    for (const LocalizationColumn& column : localization_columns())
        if (!fits(table.*column.values)) return false;
    for (const auto& [name, column] : table.extra)
        if (!fits(column.values)) return false;
    return fits(table.iterations) && fits(table.status) && table.x_px.size() == n && table.y_px.size() == n;
}

/// Returns rows from which writers learn the facts of the whole table: the minimum and maximum of each column, two
/// widths that differ, and NaN or infinity in a column that is only copied.
std::vector<std::size_t> telling_rows(const Localizations& table) {
    std::set<std::size_t> rows;
    const auto add_ends = [&](const auto& values) {
        if (values.empty()) return;
        const auto [least, largest] = std::minmax_element(values.begin(), values.end());
        rows.insert(std::size_t(least - values.begin()));
        rows.insert(std::size_t(largest - values.begin()));
    };
    add_ends(table.frame);
    for (const LocalizationColumn& column : localization_columns()) add_ends(table.*column.values);
    for (const auto& [name, column] : table.extra) {
        add_ends(column.values);
        const auto is_gap = [](double value) { return !std::isfinite(value); };
        const auto gap = std::find_if(column.values.begin(), column.values.end(), is_gap);
        if (gap != column.values.end()) rows.insert(std::size_t(gap - column.values.begin()));
    }
    if (table.sx_px.size() == table.sy_px.size()) {
        const auto differing = std::mismatch(table.sx_px.begin(), table.sx_px.end(), table.sy_px.begin()).first;
        if (differing != table.sx_px.end()) rows.insert(std::size_t(differing - table.sx_px.begin()));
    }
    return {rows.begin(), rows.end()};
}

/// A table without rows has no columns either. Its file gets the columns that every reader requires.
Localizations prototype_of(Localizations like) {
    if (like.size() > 0) return like;
    like.frame = {0};
    for (auto column : {&Localizations::x_px, &Localizations::y_px, &Localizations::photons, &Localizations::sx_px,
                        &Localizations::sy_px, &Localizations::bg, &Localizations::lpx_px, &Localizations::lpy_px})
        like.*column = {0};
    return like;
}

Localizations without_lost_rows(const Localizations& table, const fs::path& path, const Warn& warn) {
    std::vector<std::size_t> keep;
    for (std::size_t k = 0; k < table.size(); ++k)
        if (std::isfinite(table.x_px[k]) && std::isfinite(table.y_px[k])) keep.push_back(k);
    if (warn)
        warn(fmt::format("{}: {} of {} rows have a position that is NaN or infinite and are left out", path.string(),
                         table.size() - keep.size(), table.size()));
    return select(table, keep);
}

bool all_positions_finite(const Localizations& table) {
    const auto finite = [](float v) { return std::isfinite(v); };
    return std::all_of(table.x_px.begin(), table.x_px.end(), finite) &&
           std::all_of(table.y_px.begin(), table.y_px.end(), finite);
}

void tell_of_lost_columns(const fs::path& path, const Localizations& like, const Warn& warn) {
    const TableFormat& format = written_format(path);
    if (!warn || !format.left_out) return;
    const std::vector<std::string> lost = format.left_out(like);
    if (lost.empty()) return;
    const std::vector<std::string> lost_in_all = left_out_of_all_columns(like);
    const bool csv_keeps = std::none_of(lost.begin(), lost.end(), [&](const std::string& name) {
        return std::find(lost_in_all.begin(), lost_in_all.end(), name) != lost_in_all.end();
    });
    warn(
        fmt::format("{}: this format has no place for the columns {}: a name that ends in {}.hdf5 (Picasso) keeps them",
                    path.string(), fmt::join(lost, ", "), csv_keeps ? ".all.csv (CSV with every column) or " : ""));
}

constexpr std::size_t max_gathered = 1 << 19;  ///< rows; some forty megabytes

/// Checks the formats' preconditions, then forwards to one of them. Joins small pieces, so that there is work for all
/// threads.
class Checked : public LocalizationWriter::Format {
  public:
    Checked(FormatWriter format, fs::path path, const Localizations& like, std::size_t rows)
        : format_(std::move(format)), path_(std::move(path)), columns_(columns_with_values(like)), rows_(rows) {}

    void append(const Localizations& piece) override {
        if (piece.size() == 0) return;
        if (!all_as_long_as(piece)) throw OptionError("a piece of the table has columns of different lengths");
        if (columns_with_values(piece) != columns_)
            throw OptionError("a piece of the table has other columns than the first");
        if (piece.size() > rows_ - written_)
            throw OptionError(fmt::format("{}: more than the {} rows that were announced", path_.string(), rows_));
        written_ += piece.size();
        if (piece.size() >= max_gathered) return write_gathered(), format_->append(piece);
        glint::append(gathered_, piece);
        if (gathered_.size() >= max_gathered) write_gathered();
    }

    void close() override {
        if (written_ != rows_)
            throw OptionError(fmt::format("{}: {} rows came, {} were announced", path_.string(), written_, rows_));
        write_gathered();
        format_->close();
    }

    std::size_t hidden_rows() const override { return format_->hidden_rows(); }

  private:
    void write_gathered() {
        if (gathered_.size() == 0) return;
        format_->append(gathered_);
        clear_rows(gathered_);
    }

    FormatWriter format_;
    fs::path path_;
    std::set<std::string> columns_;
    std::size_t rows_, written_ = 0;  ///< rows announced; rows received
    Localizations gathered_;          ///< small pieces, not yet forwarded
};

}  // namespace

std::set<std::string> columns_with_values(const Localizations& table) {
    std::set<std::string> names;
    for (const LocalizationColumn& column : localization_columns())
        if (!(table.*column.values).empty()) names.insert(std::string(column.name));
    if (!table.iterations.empty()) names.insert("iterations");
    if (!table.status.empty()) names.insert("status");
    for (const auto& [name, column] : table.extra)
        if (!column.values.empty()) names.insert(name);
    return names;
}

std::string text_of_zeros(const fs::path& path, std::size_t values) {
    return fmt::format("{}: {} values were NaN or infinite and are written as 0", path.string(), values);
}

const TableFormat& written_format(const fs::path& path) { return *ending_of(path).format; }

const std::vector<LocalizationFormat>& localization_formats() {
    static const std::vector<LocalizationFormat> all = [] {
        std::vector<LocalizationFormat> formats;
        for (const TableFormat& one : table_formats())
            formats.push_back({one.name, one.endings, one.write != nullptr, one.cannot_hold});
        return formats;
    }();
    return all;
}

const LocalizationFormat& localization_format(const fs::path& path) {
    return localization_formats()[std::size_t(&written_format(path) - table_formats().data())];
}

std::string localization_ending(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.substr(name.size() - ending_of(path).text.size());
}

std::vector<fs::path> files_of_localizations(const fs::path& path) {
    const std::string_view companion = written_format(path).companion;
    if (companion.empty()) return {path};
    const fs::path table = without_link(path);
    return {table, fs::path(table).replace_extension(companion)};
}

OpenTable open_table(const fs::path& path, double pixel_size_nm, const Warn& warn, const TextConventions& text) {
    require_file(path);
    const hdf5::Quiet quiet;
    return format_of(Content(path)).open(path, pixel_size_nm, warn, text);
}

std::vector<std::string> read_history(const fs::path& path) {
    require_file(path);
    const hdf5::Quiet quiet;
    const Content content(path);
    const auto& formats = table_formats();
    const auto format =
        std::find_if(formats.begin(), formats.end(), [&](const TableFormat& one) { return one.is(content.view()); });
    // Any text is accepted as a CSV, the last format.
    const auto is_ours = [&] {
        return longest_ending(path).format == &*format &&
               content.beginning.substr(0, content.beginning.find('\n')).find("frame") != std::string::npos;
    };
    const bool is_table = format != formats.end() && (&*format != &formats.back() || is_ours());
    if (!is_table)
        throw InputError(
            fmt::format("{} holds no localizations: move it away, or replace it with `overwrite`", path.string()));
    return format->history ? format->history(path, content.hdf5) : std::vector<std::string>();
}

std::size_t write_localizations(const fs::path& path, const Localizations& localizations, const Warn& warn,
                                IfExists if_exists) {
    if (!all_as_long_as(localizations)) throw OptionError("the table has columns of different lengths");
    if (!all_positions_finite(localizations))
        return write_localizations(path, without_lost_rows(localizations, path, warn), warn, if_exists);
    LocalizationWriter writer(path, localizations, localizations.size(), warn, if_exists);
    writer.append(localizations);
    writer.close();
    tell_of_lost_columns(path, localizations, warn);
    return writer.hidden_rows();
}

std::size_t write_localizations(const fs::path& path, TablePieces& table, const Warn& warn, IfExists if_exists) {
    std::size_t rows = 0;
    Localizations like;
    table.for_each([&](const Localizations& piece) {
        rows += piece.size();
        Localizations telling = select(piece, telling_rows(piece));
        if (rows > piece.size()) append(telling, like);
        like = select(telling, telling_rows(telling));
    });
    like = prototype_of(rows > 0 ? std::move(like) : table.example());
    Checked writer(written_format(path).write(path, like, rows, {if_exists, warn, true}), path, like, rows);
    table.for_each([&](const Localizations& piece) { writer.append(piece); });
    writer.close();
    tell_of_lost_columns(path, like, warn);
    return writer.hidden_rows();
}

LocalizationWriter::LocalizationWriter(const fs::path& path, const Localizations& like, std::size_t rows,
                                       const Warn& warn, IfExists if_exists) {
    if (like.size() == 0 && rows > 0)
        throw OptionError("the first piece of a table must have rows: they define its columns");
    const Localizations made = like.size() > 0 ? Localizations() : prototype_of(like);
    const Localizations& prototype = like.size() > 0 ? like : made;  // not copied: it may be a whole table
    format_ = std::make_unique<Checked>(
        written_format(path).write(path, prototype, rows, {if_exists, warn, prototype.size() >= rows}), path, prototype,
        rows);
}

LocalizationWriter::~LocalizationWriter() = default;
void LocalizationWriter::append(const Localizations& piece) { format_->append(piece); }
void LocalizationWriter::close() { format_->close(); }
std::size_t LocalizationWriter::hidden_rows() const { return format_->hidden_rows(); }

void fill_unknown_extent(Localizations& table) {
    const auto extent = [](const std::vector<float>& values) {
        float end = 0;
        for (float value : values) end = std::max(end, value);
        return int(std::min(std::floor(double(end) + 0.5) + 1, 1e6));
    };
    if (table.width <= 0) table.width = extent(table.x_px);
    if (table.height <= 0) table.height = extent(table.y_px);
    if (table.frames <= 0)
        for (std::uint32_t frame : table.frame) table.frames = std::max(table.frames, std::int64_t(frame) + 1);
}

}  // namespace glint
