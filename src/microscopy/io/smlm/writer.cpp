// Writes the HDF5 of the Julia chain (SMLMAnalysis' save_smld): lengths in um from the first pixel's edge.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>

#include "data/whole_numbers.hpp"
#include "glint/error.hpp"
#include "io/hdf5/writing.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"
#include "io/row_blocks.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using L = Localizations;
using Value = std::function<double(const L&, std::size_t row)>;

enum class SmlmNumber { i32, i64, f64 };
hid_t smlm_file_type(SmlmNumber number) {
    return number == SmlmNumber::i32 ? H5T_STD_I32LE : number == SmlmNumber::i64 ? H5T_STD_I64LE : H5T_IEEE_F64LE;
}
hid_t smlm_memory_type(SmlmNumber number) {
    return number == SmlmNumber::i32   ? H5T_NATIVE_INT32
           : number == SmlmNumber::i64 ? H5T_NATIVE_INT64
                                       : H5T_NATIVE_DOUBLE;
}

struct SmlmColumn {
    std::string name;
    SmlmNumber number;  ///< in the file
    Value value;
};

enum class Widths { none, one, two };

/// The emitter type of SMLMData and GaussMLE that suits the table.
struct EmitterKind {
    bool in_3d = false, has_pvalue = false;
    Widths widths = Widths::none;  ///< free widths; a fixed width is no result

    const char* type() const {
        if (in_3d) return has_pvalue ? "Emitter3DFitGaussMLE" : "Emitter3DFit";
        if (widths == Widths::one) return "Emitter2DFitSigma";
        if (widths == Widths::two) return "Emitter2DFitSigmaXY";
        return has_pvalue ? "Emitter2DFitGaussMLE" : "Emitter2DFit";
    }
};

bool varies(const std::vector<float>& values) {
    for (float value : values)
        if (value != values.front()) return true;
    return false;
}

EmitterKind kind_of(const L& like) {
    EmitterKind kind{!like.z_nm.empty(), !like.p_value.empty(), Widths::none};
    const bool free = !like.sx_unc_px.empty() || varies(like.sx_px) || like.sx_px != like.sy_px;
    if (!like.sx_px.empty() && !like.sy_px.empty() && free)
        kind.widths = like.sx_px == like.sy_px ? Widths::one : Widths::two;
    return kind;
}

/// Adds the columns of `like` that do not belong to the format, under their names. Skips those whose name is used.
/// `sees_all`: `like` has all rows.
void add_extra_columns(const L& like, bool sees_all, std::vector<SmlmColumn>& columns,
                       std::vector<std::string>* left_out) {
    for (const auto& [name, column] : like.extra) {
        const bool is_narrow = sees_all && all_within<std::int32_t>(column.values);
        const bool is_integer =
            (column.is_integer && all_finite(column.values)) || name == "dataset" || name == "track_id";
        const SmlmNumber number = !is_integer ? SmlmNumber::f64 : is_narrow ? SmlmNumber::i32 : SmlmNumber::i64;
        std::string dataset = name;
        std::replace(dataset.begin(), dataset.end(), '/', '_');  // HDF5 would interpret it as a path
        const auto is_taken = [&](const SmlmColumn& other) { return other.name == dataset; };
        if (dataset == "id" || dataset.empty() || dataset == "." ||
            std::any_of(columns.begin(), columns.end(), is_taken)) {
            if (left_out) left_out->push_back(name);
            continue;
        }
        columns.push_back(
            {dataset, number, [name = name](const L& t, std::size_t k) { return t.extra.at(name).values[k]; }});
    }
}

std::vector<SmlmColumn> columns_of(const L& like, const EmitterKind& kind, SmlmNumber index, bool sees_all,
                                   std::vector<std::string>* left_out = nullptr) {
    std::vector<SmlmColumn> columns;
    const double um = like.pixel_size_nm / 1000;
    const SmlmNumber real = SmlmNumber::f64;
    const auto position = [&](const char* name, std::vector<float> L::*values) {
        columns.push_back({name, real, [=](const L& t, std::size_t k) { return ((t.*values)[k] + 0.5) * um; }});
    };
    /// Adds a column that the format requires: NaN if the table does not have it.
    const auto demanded = [&](const char* name, std::vector<float> L::*values, double scale) {
        if ((like.*values).empty())
            columns.push_back({name, real, [](const L&, std::size_t) { return std::nan(""); }});
        else
            columns.push_back({name, real, [=](const L& t, std::size_t k) { return (t.*values)[k] * scale; }});
    };
    const auto present = [&](const char* name, std::vector<float> L::*values, double scale) {
        if (!(like.*values).empty()) demanded(name, values, scale);
    };
    const auto constant = [&](const char* name, int value) {
        if (!like.extra.contains(name)) columns.push_back({name, index, [=](const L&, std::size_t) { return value; }});
    };
    position("x", &L::x_px);
    position("y", &L::y_px);
    present("z", &L::z_nm, 1e-3);
    demanded("photons", &L::photons, 1);
    demanded("bg", &L::bg, 1);
    demanded("sigma_x", &L::lpx_px, um);
    demanded("sigma_y", &L::lpy_px, um);
    if (kind.in_3d) demanded("sigma_z", &L::lpz_nm, 1e-3);
    demanded("sigma_photons", &L::photons_unc, 1);
    demanded("sigma_bg", &L::bg_unc, 1);
    columns.push_back({"frame", index, [](const L& t, std::size_t k) { return double(t.frame[k]) + 1; }});
    constant("dataset", 1);
    constant("track_id", 0);
    if (kind.widths == Widths::one) {
        present("psf_sigma", &L::sx_px, um);
        present("sigma_psf_sigma", &L::sx_unc_px, um);
    } else if (kind.widths == Widths::two) {
        present("psf_sigma_x", &L::sx_px, um);
        present("psf_sigma_y", &L::sy_px, um);
        present("sigma_psf_sigma_x", &L::sx_unc_px, um);
        present("sigma_psf_sigma_y", &L::sy_unc_px, um);
    }
    present("pvalue", &L::p_value, 1);
    if (!like.status.empty())  // distinguishes rows that failed, or whose z or free width is at a bound
        columns.push_back({"status", index, [](const L& t, std::size_t k) { return double(t.status[k]); }});
    add_extra_columns(like, sees_all, columns, left_out);
    return columns;
}

/// Uses SMLMAnalysis's type, or a wider one if frames and rows need it.
SmlmNumber index_for(const L& like, std::size_t rows) {
    constexpr auto largest = std::size_t(std::numeric_limits<std::int32_t>::max());
    const auto last = std::max_element(like.frame.begin(), like.frame.end());
    const bool wide = rows > largest || std::size_t(like.frames) > largest || *last >= largest;
    return wide ? SmlmNumber::i64 : SmlmNumber::i32;
}

class SmlmFile : public LocalizationWriter::Format {
  public:
    SmlmFile(const fs::path& path, const L& like, std::size_t rows, const Target& target)
        : path_(path),
          target_(path, target.if_exists),
          kind_(kind_of(like)),
          index_(index_for(like, rows)),
          columns_(columns_of(like, kind_, index_, target.sees_all)),
          rows_(rows) {
        if (!(like.pixel_size_nm > 0))
            throw OptionError(
                fmt::format("{} is in micrometres, so the pixel size must be known: give it, as in "
                            "`written_pixel_size=100nm`",
                            path.string()));
        extent_.width = like.width, extent_.height = like.height, extent_.frames = like.frames;
        extent_.pixel_size_nm = like.pixel_size_nm, extent_.history = like.history;
        ends_.x_px = {0}, ends_.y_px = {0}, ends_.frame = {0};
        file_ = hdf5::create_file(target_);
        emitters_ = create_group("emitters");
        const hsize_t shape[] = {rows};
        for (const SmlmColumn& column : columns_)
            datasets_.push_back(
                hdf5::create_dataset(emitters_, column.name.c_str(), smlm_file_type(column.number), shape, path_));
        datasets_.push_back(hdf5::create_dataset(emitters_, "id", smlm_file_type(index_), shape, path_));
    }

    void append(const L& piece) override {
        if (index_for(piece, 0) == SmlmNumber::i64 && index_ == SmlmNumber::i32)
            throw OutputError(
                fmt::format("cannot write {}: a frame beyond 2147483647 in a table that was said to have {} frames",
                            path_.string(), extent_.frames));
        const std::size_t n = piece.size(), blocks = row_blocks(n);
        made_in_order<std::vector<std::byte>>(
            datasets_.size() * blocks,
            [&](std::size_t k, std::vector<std::byte>& values) {
                make(piece, k / blocks, row_block(k % blocks, n), values);
            },
            [&](std::size_t k, const std::vector<std::byte>& values) {
                const std::size_t column = k / blocks;
                const RowBlock rows = row_block(k % blocks, n);
                hdf5::write_rows(datasets_[column], smlm_memory_type(number_of(column)), written_ + rows.first,
                                 rows.count(), values.data(), path_);
                target_.check();
            });
        written_ += n;
        for (std::size_t k = 0; k < n; ++k) {
            ends_.x_px[0] = std::max(ends_.x_px[0], piece.x_px[k]);
            ends_.y_px[0] = std::max(ends_.y_px[0], piece.y_px[k]);
            ends_.frame[0] = std::max(ends_.frame[0], piece.frame[k]);
        }
        if (const auto found = piece.extra.find("dataset"); found != piece.extra.end())
            for (double dataset : found->second.values)
                n_datasets_ = std::max(n_datasets_, whole<std::int64_t>(dataset));
    }

    void close() override {
        ends_.width = extent_.width, ends_.height = extent_.height, ends_.frames = extent_.frames;
        if (rows_ == 0) ends_.frame.clear();  // without rows there are no frames either
        fill_unknown_extent(ends_);
        write_camera();
        write_metadata();
        bool closed = emitters_.close();
        for (hdf5::Handle& dataset : datasets_) closed &= dataset.close();
        if (!closed || !file_.close()) throw_output_error(path_, 0);
        target_.commit();
    }

  private:
    SmlmNumber number_of(std::size_t column) const {
        return column < columns_.size() ? columns_[column].number : index_;
    }

    /// Converts values of some rows to the form that HDF5 writes without a conversion. Calls nothing of HDF5, so
    /// that threads may call it.
    void make(const L& piece, std::size_t column, RowBlock rows, std::vector<std::byte>& values) const {
        const auto fill = [&](auto typed, const auto& value_of) {
            values.resize(rows.count() * sizeof typed);
            std::byte* to = values.data();
            for (std::size_t row = rows.first; row < rows.end; ++row, to += sizeof typed) {
                typed = value_of(row);
                std::memcpy(to, &typed, sizeof typed);
            }
        };
        const auto fill_integers = [&](auto typed) {
            using Integer = decltype(typed);
            if (column == columns_.size())
                fill(typed, [&](std::size_t row) { return Integer(written_ + row + 1); });
            else
                fill(typed, [&](std::size_t row) { return whole<Integer>(columns_[column].value(piece, row)); });
        };
        switch (number_of(column)) {
            case SmlmNumber::i32: return fill_integers(std::int32_t());
            case SmlmNumber::i64: return fill_integers(std::int64_t());
            case SmlmNumber::f64:
                return fill(double(), [&](std::size_t row) { return columns_[column].value(piece, row); });
        }
    }

    hdf5::Handle create_group(const char* name) {
        const hdf5::Quiet quiet;
        hdf5::Handle group(H5Gcreate2(file_, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        if (!group.valid()) throw_output_error(path_, 0);
        return group;
    }

    void write_edges(hid_t camera, const char* name, int pixels) {
        std::vector<double> edges;
        for (int k = 0; k <= pixels; ++k) edges.push_back(k * extent_.pixel_size_nm / 1000);
        const hsize_t shape[] = {edges.size()};
        hdf5::write_values(camera, name, H5T_IEEE_F64LE, shape, edges.data(), path_);
    }

    void write_camera() {
        const hdf5::Handle camera = create_group("camera");
        hdf5::write_string(camera, "type", "IdealCamera", path_);
        write_edges(camera, "pixel_edges_x", ends_.width);
        write_edges(camera, "pixel_edges_y", ends_.height);
    }

    void write_metadata() {
        const hdf5::Handle metadata = create_group("metadata");
        const auto flag = [&](const char* name, bool value) {  // Julia reads an 8-bit bitfield as Bool
            const std::uint8_t byte = value;
            hdf5::write_values(metadata, name, H5T_STD_B8LE, {}, &byte, path_);
        };
        const auto number = [&](const char* name, std::int64_t value) {
            hdf5::write_values(metadata, name, H5T_STD_I64LE, {}, &value, path_);
        };
        hdf5::write_string(metadata, "format_version", "1.2", path_);
        hdf5::write_string(metadata, "package_name", "glint", path_);
        hdf5::write_string(metadata, "emitter_type", kind_.type(), path_);
        hdf5::write_string(metadata, "element_type", "Float64", path_);
        flag("is_3d", kind_.in_3d);
        flag("has_psf_sigma", kind_.widths == Widths::one);
        flag("has_psf_sigma_xy", kind_.widths == Widths::two);
        flag("has_pvalue", kind_.has_pvalue);
        number("n_frames", ends_.frames);
        number("n_datasets", n_datasets_);
        number("n_emitters", std::int64_t(rows_));
        if (!extent_.history.empty()) hdf5::write_string(metadata, "history", to_json(extent_.history), path_);
    }

    fs::path path_;
    AtomicFile target_;
    EmitterKind kind_;
    SmlmNumber index_;  ///< of frames, rows and other counts
    std::vector<SmlmColumn> columns_;
    std::size_t rows_, written_ = 0;
    std::int64_t n_datasets_ = 1;
    L extent_, ends_;  ///< metadata only; the outermost row
    hdf5::Handle file_, emitters_;
    std::vector<hdf5::Handle> datasets_;  ///< of the columns; then `id`
};

}  // namespace

std::vector<std::string> left_out_of_smlm(const Localizations& like) {
    const EmitterKind kind = kind_of(like);
    std::vector<std::string> names{"detection_score", "log_likelihood", "emitters", "iterations"};
    if (!kind.in_3d) names.emplace_back("lpz");
    if (kind.widths == Widths::none) names.insert(names.end(), {"sx", "sy", "sx_unc"});
    if (kind.widths == Widths::none || (kind.widths == Widths::one && like.sy_unc_px != like.sx_unc_px))
        names.emplace_back("sy_unc");
    const std::set<std::string> there = columns_with_values(like);
    std::erase_if(names, [&](const std::string& name) { return !there.contains(name); });
    (void)columns_of(like, kind, SmlmNumber::i64, false, &names);
    return names;
}

FormatWriter write_smlm(const fs::path& path, const Localizations& like, std::size_t rows, const Target& target) {
    return std::make_unique<SmlmFile>(path, like, rows, target);
}

}  // namespace glint
