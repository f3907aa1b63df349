// Writes ThunderSTORM's CSV: nanometres from the first pixel's outer edge, frames from 1.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <set>

#include "data/whole_numbers.hpp"
#include "glint/error.hpp"
#include "io/csv/columns.hpp"
#include "io/csv/text.hpp"
#include "io/files/atomic_file.hpp"
#include "io/localization_formats.hpp"
#include "io/row_blocks.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using L = Localizations;

struct TextColumn {
    std::string header;
    std::function<float(const L&, std::size_t row)> value;
    bool is_copied = false;  ///< from an earlier file, with its NaN and infinity
};

/// Returns the columns of ThunderSTORM that `like` has, in ThunderSTORM's order; then other columns of an earlier file.
std::vector<TextColumn> columns_of(const L& like) {
    const double pixel = like.pixel_size_nm;
    std::vector<TextColumn> columns;
    const auto add = [&](bool present, const char* header, auto value) {
        if (present) columns.push_back({header, value});
    };
    const auto add_copied = [&](const char* header, const char* name) {
        columns.push_back(
            {header, [name](const L& t, std::size_t k) { return float(t.extra.at(name).values[k]); }, true});
    };
    const bool widths = !like.sx_px.empty() && !like.sy_px.empty(), in_3d = !like.z_nm.empty();
    const auto sigma1 = [pixel](const L& t, std::size_t k) { return float(t.sx_px[k] * pixel); };
    const auto sigma2 = [pixel](const L& t, std::size_t k) { return float(t.sy_px[k] * pixel); };
    add(true, "x [nm]", [pixel](const L& t, std::size_t k) { return float((t.x_px[k] + 0.5) * pixel); });
    add(true, "y [nm]", [pixel](const L& t, std::size_t k) { return float((t.y_px[k] + 0.5) * pixel); });
    add(in_3d, "z [nm]", [](const L& t, std::size_t k) { return t.z_nm[k]; });
    add(widths && !in_3d, "sigma [nm]", [pixel](const L& t, std::size_t k) {
        const double sx = t.sx_px[k], sy = t.sy_px[k];
        return float((sx == sy ? sx : std::sqrt(sx * sy)) * pixel);
    });
    add(widths && in_3d, "sigma1 [nm]", sigma1);
    add(widths && in_3d, "sigma2 [nm]", sigma2);
    add(!like.photons.empty(), "intensity [photon]", [](const L& t, std::size_t k) { return t.photons[k]; });
    add(!like.bg.empty(), "offset [photon]", [](const L& t, std::size_t k) { return t.bg[k]; });
    const bool read_bkgstd = like.extra.count("bkgstd"), read_chi2 = like.extra.count("chi2");
    if (read_bkgstd)
        add_copied("bkgstd [photon]", "bkgstd");
    else  // the shot noise of the background
        add(!like.bg.empty(), "bkgstd [photon]",
            [](const L& t, std::size_t k) { return std::sqrt(std::max(t.bg[k], 0.0f)); });
    if (read_chi2)
        add_copied("chi2", "chi2");
    else  // distributed like chi squared if the model is correct
        add(!like.log_likelihood.empty(), "chi2", [](const L& t, std::size_t k) { return -2 * t.log_likelihood[k]; });
    add(!like.lpx_px.empty() && !like.lpy_px.empty(), "uncertainty_xy [nm]",
        [pixel](const L& t, std::size_t k) { return float((double(t.lpx_px[k]) + t.lpy_px[k]) / 2 * pixel); });
    add(!like.lpz_nm.empty(), "uncertainty_z [nm]", [](const L& t, std::size_t k) { return t.lpz_nm[k]; });
    // Distinguishes rows that failed, or whose z or free width is at a bound.
    add(!like.status.empty(), "status", [](const L& t, std::size_t k) { return float(t.status[k]); });
    add(widths && !in_3d && like.sx_px != like.sy_px, "sigma1 [nm]", sigma1);
    add(widths && !in_3d && like.sx_px != like.sy_px, "sigma2 [nm]", sigma2);
    return columns;
}

/// Rows as text.
struct CsvRows {
    std::string text;
    std::size_t not_finite = 0;  ///< values written as 0
};

/// Returns true if a reader would interpret the column as another one, or would interpret frames or lengths differently
/// because of it.
bool means_another(const std::string& name) try {
    if (name.find_first_of("\r\n") != name.npos) return true;  // it would be read as a name with blanks
    const CsvHeader plain = understand_header({"id", "frame", "x [nm]", "y [nm]"}, 100, "");
    const CsvHeader with = understand_header({"id", "frame", "x [nm]", "y [nm]", name}, 100, "");
    return with.first_frame != plain.first_frame || with.columns.size() != 5 ||
           with.columns.back().names != std::vector{name} || with.columns.back().known;
} catch (const InputError&) {
    return true;
}

/// Returns true for columns of an earlier file that ThunderSTORM's format contains.
bool is_thunderstorm(const std::string& name) { return name == "bkgstd" || name == "chi2"; }

std::vector<std::string> further_columns(const L& like) {
    std::vector<std::string> names;
    for (const auto& [name, column] : like.extra)
        if (!is_thunderstorm(name) && !means_another(name)) names.push_back(name);
    return names;
}

class ThunderstormFile : public LocalizationWriter::Format {
  public:
    ThunderstormFile(const fs::path& path, const L& like, const Target& target)
        : file_(path, target.if_exists), path_(path), warn_(target.warn) {
        if (!(like.pixel_size_nm > 0))
            throw OptionError(
                fmt::format("{} is in nanometres, so the pixel size must be known: give it, as in "
                            "`written_pixel_size=100nm`",
                            path.string()));
        columns_ = columns_of(like);
        further_ = further_columns(like);
        std::string header = "\"id\",\"frame\"";
        for (const TextColumn& column : columns_) append_quoted(column.header, header);
        for (const std::string& name : further_) append_quoted(name, header);
        file_.write(header + '\n');
    }

    void append(const L& piece) override {
        std::vector<const ExtraColumn*> further;
        for (const std::string& name : further_) further.push_back(&piece.extra.at(name));
        rows_in_order<CsvRows>(
            piece.size(), [&](RowBlock block, CsvRows& rows) { format(piece, further, block, rows); },
            [&](RowBlock, const CsvRows& rows) { file_.write(rows.text), not_finite_ += rows.not_finite; });
        written_ += piece.size();
    }

    void close() override {
        file_.commit();
        if (warn_ && not_finite_ > 0) warn_(text_of_zeros(path_, not_finite_));
    }

  private:
    static void append_quoted(const std::string& name, std::string& to) {
        to += ",\"";
        for (char c : name) {
            if (c == '"') to += c;
            to += c == '\n' || c == '\r' ? ' ' : c;
        }
        to += '"';
    }

    void format(const L& piece, const std::vector<const ExtraColumn*>& further, RowBlock block, CsvRows& rows) const {
        std::string& text = rows.text;
        text.clear(), rows.not_finite = 0;
        for (std::size_t row = block.first; row < block.end; ++row) {
            append_number(text, std::uint64_t(written_ + row + 1));
            text += ',';
            append_number(text, std::uint64_t(piece.frame[row]) + 1);
            for (const TextColumn& column : columns_) {
                text += ',';
                const float value = column.value(piece, row);
                const bool is_finite = std::isfinite(value);
                if (column.is_copied && !is_finite)
                    append_real(text, value);
                else
                    append_number(text, value), rows.not_finite += !is_finite;
            }
            for (const ExtraColumn* column : further) {
                text += ',';
                if (column->is_integer && std::isfinite(column->values[row]))
                    append_number(text, whole<std::int64_t>(column->values[row]));
                else
                    append_real(text, column->values[row]);
            }
            text += '\n';
        }
    }

    AtomicFile file_;
    fs::path path_;
    Warn warn_;
    std::vector<TextColumn> columns_;
    std::vector<std::string> further_;
    std::size_t written_ = 0, not_finite_ = 0;  ///< rows; values
};

}  // namespace

std::vector<std::string> left_out_of_thunderstorm(const Localizations& like) {
    std::vector<std::string> names{"photons_unc",     "bg_unc",   "sx_unc",  "sy_unc",
                                   "detection_score", "emitters", "p_value", "iterations"};
    if (like.lpx_px != like.lpy_px) names.insert(names.end(), {"lpx", "lpy"});
    if (like.sx_px.empty() || like.sy_px.empty()) names.insert(names.end(), {"sx", "sy"});
    if (like.extra.contains("chi2")) names.emplace_back("log_likelihood");
    const std::set<std::string> there = columns_with_values(like);
    std::erase_if(names, [&](const std::string& name) { return !there.contains(name); });
    for (const auto& [name, column] : like.extra)
        if (!is_thunderstorm(name) && means_another(name)) names.push_back(name);
    const auto is_precision = [](const std::string& name) { return name == "lpx" || name == "lpy"; };
    if (std::any_of(names.begin(), names.end(), is_precision)) names.back() += " (of lpx and lpy it has the mean)";
    return names;
}

FormatWriter write_thunderstorm(const fs::path& path, const Localizations& like, const Target& target) {
    return std::make_unique<ThunderstormFile>(path, like, target);
}

/// Accepts any text with a header, and is therefore the last format.
TableFormat thunderstorm_tables() {
    return {.name = "ThunderSTORM",
            .endings = {".csv"},
            .is = [](const TableContent& content) { return content.hdf5 < 0; },
            .open = open_csv,
            .write = [](const fs::path& path, const Localizations& like, std::size_t,
                        const Target& target) { return write_thunderstorm(path, like, target); },
            .left_out = left_out_of_thunderstorm,
            .cannot_hold =
                "errors of photons, background and widths, lpx and lpy apart from their mean, p values, settings",
            .in_one_pass = true};
}

}  // namespace glint
