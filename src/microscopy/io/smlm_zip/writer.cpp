// Writes .smlm files (version 0.2): a ZIP archive of manifest.json and one binary table.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "data/whole_numbers.hpp"
#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"
#include "io/row_blocks.hpp"
#include "io/smlm_zip/manifest.hpp"
#include "io/smlm_zip/zip.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using L = Localizations;
using SortedJson = nlohmann::json;

constexpr const char* format_name = "smlm-table(binary)";
constexpr const char* table_name = "localizations.bin";

/// The format has no signed integers, so other whole numbers are stored as float64.
enum class ZipNumber { u32, f32, f64 };

struct StoredColumn {
    std::string header, unit;
    ZipNumber number = ZipNumber::f32;
    bool is_copied = false, is_whole = false;
    std::function<double(const L&, std::size_t row)> value;
};

bool is_taken(const std::string& name, const std::vector<StoredColumn>& columns) {
    const auto is_own = [&](const LocalizationColumn& column) { return name == column.name; };
    return name == "likelihood" || name == "iterations" || name == "status" || smlm_field(name, &SmlmField::header) ||
           std::any_of(localization_columns().begin(), localization_columns().end(), is_own) ||
           std::any_of(columns.begin(), columns.end(), [&](const StoredColumn& other) { return other.header == name; });
}

bool all_u32(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double v) { return v >= 0 && v <= 4294967295.0; });
}

std::vector<StoredColumn> stored_columns_of(const L& like, bool sees_all,
                                            std::vector<std::string>* left_out = nullptr) {
    const double pixel = like.pixel_size_nm;
    std::vector<StoredColumn> columns;
    columns.push_back({"frame", "frame", ZipNumber::u32, false, true,
                       [](const L& t, std::size_t k) { return double(t.frame[k]) + 1; }});
    for (const LocalizationColumn& column : localization_columns()) {
        if ((like.*column.values).empty()) continue;
        const SmlmField* field = smlm_field(column.name, &SmlmField::name);
        const double scale = field && field->is_in_pixels ? pixel : 1, shift = field && field->is_position ? 0.5 : 0;
        columns.push_back({std::string(field ? field->header : column.name), std::string(field ? field->unit : ""),
                           ZipNumber::f32, false, false, [=, of = column.values](const L& t, std::size_t k) {
                               return (double((t.*of)[k]) + shift) * scale;
                           }});
    }
    if (!like.iterations.empty())
        columns.push_back({"iterations", "", ZipNumber::u32, false, true,
                           [](const L& t, std::size_t k) { return double(t.iterations[k]); }});
    if (!like.status.empty())
        columns.push_back(
            {"status", "", ZipNumber::u32, false, true, [](const L& t, std::size_t k) { return double(t.status[k]); }});
    for (const auto& [name, column] : like.extra) {
        if (column.values.empty()) continue;
        if (name.empty() || is_taken(name, columns)) {
            if (left_out) left_out->push_back(name);
            continue;
        }
        const bool is_u32 = column.is_integer && sees_all && all_u32(column.values);
        columns.push_back({name, "", is_u32 ? ZipNumber::u32 : ZipNumber::f64, true, column.is_integer,
                           [name = name](const L& t, std::size_t k) { return t.extra.at(name).values[k]; }});
    }
    return columns;
}

/// Rows as bytes.
struct StoredRows {
    std::vector<std::byte> bytes;
    std::size_t not_finite = 0;  ///< values written as 0
};

template <class T>
void append_bytes(std::vector<std::byte>& to, T value) {
    if (!host_is_little_endian) swap_bytes(reinterpret_cast<std::byte*>(&value), sizeof value, sizeof value);
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    to.insert(to.end(), bytes, bytes + sizeof value);
}

class SmlmZipFile : public LocalizationWriter::Format {
  public:
    SmlmZipFile(const fs::path& path, const L& like, std::size_t rows, const Target& target)
        : path_(path),
          file_(path, target.if_exists),
          zip_(file_),
          warn_(target.warn),
          columns_(stored_columns_of(like, target.sees_all)),
          rows_(rows) {
        extent_.width = like.width, extent_.height = like.height, extent_.frames = like.frames;
        extent_.pixel_size_nm = like.pixel_size_nm, extent_.history = like.history;
        zip_.begin(table_name);
    }

    void append(const L& piece) override {
        rows_in_order<StoredRows>(
            piece.size(), [&](RowBlock block, StoredRows& rows) { make(piece, block, rows); },
            [&](RowBlock, const StoredRows& rows) { zip_.write(rows.bytes), not_finite_ += rows.not_finite; });
    }

    void close() override {
        zip_.end();
        zip_.begin(smlm_manifest_name);
        const std::string text = manifest();
        zip_.write({reinterpret_cast<const std::byte*>(text.data()), text.size()});
        zip_.end();
        zip_.close();
        file_.commit();
        if (warn_ && not_finite_ > 0) warn_(text_of_zeros(path_, not_finite_));
    }

  private:
    void make(const L& piece, RowBlock block, StoredRows& rows) const {
        rows.bytes.clear(), rows.not_finite = 0;
        for (std::size_t row = block.first; row < block.end; ++row)
            for (const StoredColumn& column : columns_) {
                double value = column.value(piece, row);
                if (!column.is_copied && !std::isfinite(value)) value = 0, ++rows.not_finite;
                switch (column.number) {
                    case ZipNumber::u32: append_bytes(rows.bytes, whole<std::uint32_t>(value)); break;
                    case ZipNumber::f32: append_bytes(rows.bytes, float(value)); break;
                    case ZipNumber::f64: append_bytes(rows.bytes, value); break;
                }
            }
    }

    static const char* to_name(ZipNumber number) {
        return number == ZipNumber::u32 ? "uint32" : number == ZipNumber::f32 ? "float32" : "float64";
    }

    std::string manifest() const {
        SortedJson headers = SortedJson::array(), types = SortedJson::array(), shapes = SortedJson::array(),
                   units = SortedJson::array(), integers = SortedJson::array();
        for (const StoredColumn& column : columns_) {
            headers.push_back(column.header), types.push_back(to_name(column.number));
            shapes.push_back(1), units.push_back(column.unit);
            if (column.is_whole) integers.push_back(column.header);
        }
        SortedJson own = {{"Width", extent_.width},
                          {"Height", extent_.height},
                          {"Frames", extent_.frames},
                          {"Pixelsize", extent_.pixel_size_nm},
                          {"integers", integers},
                          {"note", "frames count from 1; positions are measured from the first pixel's outer edge"}};
        own["history"] = to_json(extent_.history);  // a text, which keeps the order of its keys
        const SortedJson format = {{"name", format_name},
                                   {"type", "table"},
                                   {"mode", "binary"},
                                   {"extension", ".bin"},
                                   {"columns", columns_.size()},
                                   {"headers", headers},
                                   {"dtype", types},
                                   {"shape", shapes},
                                   {"units", units},
                                   {"description", "localizations"}};
        const SortedJson file = {{"name", table_name},   {"type", "table"}, {"format", format_name},
                                 {"channel", "default"}, {"rows", rows_},   {"offset", SortedJson::object()}};
        const SortedJson all = {
            {"format_version", "0.2"}, {"formats", {{format_name, format}}},      {"files", SortedJson::array({file})},
            {"name", "localizations"}, {"description", "localizations of glint"}, {"tags", SortedJson::array()},
            {smlm_own_key, own}};
        return all.dump(1, ' ', true, SortedJson::error_handler_t::replace);
    }

    fs::path path_;
    AtomicFile file_;
    ZipWriter zip_;
    Warn warn_;
    std::vector<StoredColumn> columns_;
    std::size_t rows_, not_finite_ = 0;
    L extent_;  ///< metadata only
};

}  // namespace

std::vector<std::string> left_out_of_smlm_zip(const L& like) {
    std::vector<std::string> names;
    (void)stored_columns_of(like, false, &names);
    return names;
}

FormatWriter write_smlm_zip(const fs::path& path, const L& like, std::size_t rows, const Target& target) {
    if (!(like.pixel_size_nm > 0))
        throw OptionError(fmt::format(
            "{} is in nanometres, so the pixel size must be known: give it, as in `written_pixel_size=100nm`",
            path.string()));
    return std::make_unique<SmlmZipFile>(path, like, rows, target);
}

}  // namespace glint
