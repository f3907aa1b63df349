// Detects the format of a file, and does the writing that all formats share.
// SPDX-License-Identifier: MIT
#include "glint/localization_io.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "data/clear_rows.hpp"
#include "glint/error.hpp"
#include "glint/localization_reader.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/file.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// In any case: Windows and cameras like .HDF5 and .CSV.
bool ends_with(const std::string& text, std::string_view end) {
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
    return text.size() > end.size() &&
           std::equal(text.end() - std::ptrdiff_t(end.size()), text.end(), end.begin(), same);
}

struct Ending {
    const char* text;
    LocalizationFormat format;
};
constexpr Ending endings[] = {
    {".all.csv", LocalizationFormat::all_csv},      {".smap.csv", LocalizationFormat::smap_csv},
    {"_sml.mat", LocalizationFormat::smap_mat},     {".smlm", LocalizationFormat::smlm_zip},
    {".csv", LocalizationFormat::thunderstorm_csv}, {".smlm.h5", LocalizationFormat::smlm_hdf5},
    {"_smlm.h5", LocalizationFormat::smlm_hdf5},    {".smlm.hdf5", LocalizationFormat::smlm_hdf5},
    {"_smlm.hdf5", LocalizationFormat::smlm_hdf5},  {".hdf5", LocalizationFormat::picasso_hdf5},
    {".h5", LocalizationFormat::picasso_hdf5},
};

const Ending* find_ending(const fs::path& path) {
    const std::string name = path.filename().string();
    for (const Ending& ending : endings)
        if (ends_with(name, ending.text)) return &ending;
    return nullptr;
}

const Ending& ending_of(const fs::path& path) {
    if (const Ending* found = find_ending(path)) return *found;
    throw OptionError(
        fmt::format("{}: no format of localizations has such a name: end it in .hdf5 (Picasso), .csv "
                    "(ThunderSTORM), .all.csv (every column), .smlm.h5 (SMLMAnalysis), _sml.mat or .smap.csv (SMAP) or "
                    ".smlm",
                    path.string()));
}

void require_file(const fs::path& path) {
    std::error_code failed;
    const fs::file_status status = fs::status(path, failed);
    if (!fs::exists(status)) throw InputError(fmt::format("{} does not exist", path.string()));
    if (!fs::is_regular_file(status)) throw InputError(fmt::format("{} is not a file", path.string()));
    if (fs::file_size(path, failed) == 0) throw InputError(fmt::format("{} is empty", path.string()));
}

OpenTable open_hdf5(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    std::string found;
    {
        const hdf5::Quiet quiet;
        const hdf5::Handle file = hdf5::open_file(path);
        if (hdf5::has(file, "locs")) return open_picasso(path, pixel_size_nm, warn);
        if (hdf5::has(file, "emitters")) return open_smlm(path, pixel_size_nm, warn);
        if (hdf5::has(file, "saveloc")) return open_smap_hdf5(path, pixel_size_nm, warn);
        if (is_decode(file)) return open_decode(path, pixel_size_nm, warn);
        for (const std::string& name : hdf5::names_in(file)) found += " /" + name;
    }
    throw InputError(
        fmt::format("{} holds no localizations: neither /locs (Picasso), /emitters (SMLMAnalysis), /saveloc (SMAP) nor "
                    "/data/xyz (DECODE), but{}",
                    path.string(), found.empty() ? " nothing" : found));
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

/// Rows that tell writers all that the whole table would: the least and the largest value of each column, two widths that differ, and
/// NaN or infinity in a column that is only copied.
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

/// A table without rows has no columns either; its file gets those that every reader requires.
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

std::vector<std::string> left_out_of(LocalizationFormat format, const Localizations& like) {
    switch (format) {
        case LocalizationFormat::thunderstorm_csv: return left_out_of_thunderstorm(like);
        case LocalizationFormat::smlm_hdf5: return left_out_of_smlm(like);
        case LocalizationFormat::all_csv: return left_out_of_all_columns(like);
        case LocalizationFormat::smap_csv:
        case LocalizationFormat::smap_mat: return left_out_of_smap(like);
        case LocalizationFormat::smlm_zip: return left_out_of_smlm_zip(like);
        case LocalizationFormat::picasso_hdf5: break;
    }
    return {};
}

void tell_of_lost_columns(const fs::path& path, const Localizations& like, const Warn& warn) {
    const LocalizationFormat format = localization_format(path);
    const std::vector<std::string> lost = left_out_of(format, like);
    if (!warn || lost.empty()) return;
    const bool has_mean = format == LocalizationFormat::thunderstorm_csv && !like.lpx_px.empty() &&
                          !like.lpy_px.empty() && like.lpx_px != like.lpy_px;
    warn(
        fmt::format("{}: this format has no place for the columns {}{}: a name that ends in .hdf5 (Picasso) keeps them",
                    path.string(), fmt::join(lost, ", "), has_mean ? " (of lpx and lpy it has the mean)" : ""));
}

constexpr std::size_t most_gathered = 1 << 19;  ///< rows; some forty megabytes

/// Checks what the formats rely on, then forwards to one of them: small pieces together, so that there is work for all threads.
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
        if (piece.size() >= most_gathered) return write_gathered(), format_->append(piece);
        glint::append(gathered_, piece);
        if (gathered_.size() >= most_gathered) write_gathered();
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
    std::size_t rows_, written_ = 0;  ///< announced; come
    Localizations gathered_;          ///< small pieces, not yet handed on
};

FormatWriter open_writer(const fs::path& path, const Localizations& like, std::size_t rows, const Target& target) {
    switch (localization_format(path)) {
        case LocalizationFormat::thunderstorm_csv: return write_thunderstorm(path, like, target);
        case LocalizationFormat::smlm_hdf5: return write_smlm(path, like, rows, target);
        case LocalizationFormat::all_csv: return write_all_columns(path, like, target);
        case LocalizationFormat::smap_csv: return write_smap_csv(path, like, target);
        case LocalizationFormat::smap_mat: return write_smap_mat(path, like, rows, target);
        case LocalizationFormat::smlm_zip: return write_smlm_zip(path, like, rows, target);
        case LocalizationFormat::picasso_hdf5: break;
    }
    return write_picasso(path, like, rows, target);
}

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

LocalizationFormat localization_format(const fs::path& path) { return ending_of(path).format; }

std::string localization_ending(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.substr(name.size() - std::string_view(ending_of(path).text).size());
}

std::vector<fs::path> files_of_localizations(const fs::path& path) {
    if (localization_format(path) != LocalizationFormat::picasso_hdf5) return {path};
    const fs::path table = without_link(path);
    return {table, fs::path(table).replace_extension(".yaml")};
}

OpenTable open_table(const fs::path& path, double pixel_size_nm, const Warn& warn, const TextConventions& text) {
    require_file(path);
    const hdf5::Quiet quiet;
    if (H5Fis_hdf5(path.c_str()) > 0) return open_hdf5(path, pixel_size_nm, warn);
    if (is_smlm_zip(path)) return open_smlm_zip(path, pixel_size_nm, warn, text);
    if (is_smap_mat5(path)) return open_smap_mat5(path, pixel_size_nm, warn);
    return open_csv(path, pixel_size_nm, warn, text);
}

std::vector<std::string> read_history(const fs::path& path) {
    require_file(path);
    const hdf5::Quiet quiet;
    const Ending* const ending = find_ending(path);
    const auto is = [&](LocalizationFormat format) { return ending && ending->format == format; };
    if (is(LocalizationFormat::all_csv) || is(LocalizationFormat::smap_csv) || is(LocalizationFormat::smap_mat) ||
        is(LocalizationFormat::smlm_zip)) {
        constexpr double any_pixel_nm = 100;  // lengths are not looked at
        return open_table(path, any_pixel_nm, {})->about.history;
    }
    if (H5Fis_hdf5(path.c_str()) <= 0) {
        std::string header;
        std::ifstream in(path);
        if (!in) throw_cannot_open(path.string(), errno);
        std::getline(in, header);
        if (localization_format(path) != LocalizationFormat::thunderstorm_csv || header.find("frame") == header.npos)
            throw InputError(
                fmt::format("{} holds no localizations: move it away, or replace it with --overwrite", path.string()));
        return {};
    }
    const hdf5::Handle file = hdf5::open_file(path);
    return hdf5::has(file, "emitters") ? smlm_history(path, file) : picasso_history(path, file);
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
    Checked writer(open_writer(path, like, rows, {if_exists, warn, true}), path, like, rows);
    table.for_each([&](const Localizations& piece) { writer.append(piece); });
    writer.close();
    tell_of_lost_columns(path, like, warn);
    return writer.hidden_rows();
}

LocalizationWriter::LocalizationWriter(const fs::path& path, const Localizations& like, std::size_t rows,
                                       const Warn& warn, IfExists if_exists) {
    if (like.size() == 0 && rows > 0)
        throw OptionError("the first piece of a table must have rows: they tell its columns");
    const Localizations made = like.size() > 0 ? Localizations() : prototype_of(like);
    const Localizations& prototype = like.size() > 0 ? like : made;  // not copied: it may be a whole table
    format_ = std::make_unique<Checked>(open_writer(path, prototype, rows, {if_exists, warn, prototype.size() >= rows}),
                                        path, prototype, rows);
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
