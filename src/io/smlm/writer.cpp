// Writes the HDF5 of the Julia chain (SMLMAnalysis' save_smld): lengths in um from the first pixel's edge.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "data/whole_numbers.hpp"
#include "glint/error.hpp"
#include "io/hdf5/writing.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using L = Localizations;
using Value = std::function<double(const L&, std::size_t row)>;

struct SmlmColumn {
    std::string name;
    hid_t type;  ///< H5T_IEEE_F64LE, or of integers
    Value value;

    bool is_integer() const { return type != H5T_IEEE_F64LE; }
};

enum class Widths { none, one, two };

/// Which of the emitter types of SMLMData and GaussMLE the table is.
struct EmitterKind {
    bool in_3d = false, has_pvalue = false;
    Widths widths = Widths::none;  ///< free ones; a fixed width is no result

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

/// The columns of `like` that are none of the format's own, under their names; `sees_all`: `like` has all rows.
void add_extra_columns(const L& like, bool sees_all, std::vector<SmlmColumn>& columns) {
    for (const auto& [name, column] : like.extra) {
        const bool is_narrow = sees_all && all_within<std::int32_t>(column.values);
        const bool is_integer =
            (column.is_integer && all_finite(column.values)) || name == "dataset" || name == "track_id";
        const hid_t type = !is_integer ? H5T_IEEE_F64LE : is_narrow ? H5T_STD_I32LE : H5T_STD_I64LE;
        std::string dataset = name;
        std::replace(dataset.begin(), dataset.end(), '/', '_');  // which HDF5 takes for a path
        const auto is_taken = [&](const SmlmColumn& other) { return other.name == dataset; };
        if (dataset == "id" || dataset.empty() || dataset == "." ||
            std::any_of(columns.begin(), columns.end(), is_taken))
            continue;
        columns.push_back(
            {dataset, type, [name = name](const L& t, std::size_t k) { return t.extra.at(name).values[k]; }});
    }
}

std::vector<SmlmColumn> columns_of(const L& like, const EmitterKind& kind, hid_t index_type, bool sees_all) {
    std::vector<SmlmColumn> columns;
    const double um = like.pixel_size_nm / 1000;
    const hid_t real = H5T_IEEE_F64LE;
    const auto position = [&](const char* name, std::vector<float> L::*values) {
        columns.push_back({name, real, [=](const L& t, std::size_t k) { return ((t.*values)[k] + 0.5) * um; }});
    };
    /// A column that the format demands is NaN where the table does not know it.
    const auto demanded = [&](const char* name, std::vector<float> L::*values, double scale) {
        if ((like.*values).empty())
            columns.push_back({name, real, [](const L&, std::size_t) { return std::nan(""); }});
        else
            columns.push_back({name, real, [=](const L& t, std::size_t k) { return (t.*values)[k] * scale; }});
    };
    const auto present = [&](const char* name, std::vector<float> L::*values, double scale) {
        if (!(like.*values).empty()) demanded(name, values, scale);
    };
    const auto constant = [&](const char* name, int index) {
        if (!like.extra.contains(name))
            columns.push_back({name, index_type, [=](const L&, std::size_t) { return index; }});
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
    columns.push_back({"frame", index_type, [](const L& t, std::size_t k) { return double(t.frame[k]) + 1; }});
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
    if (!like.status.empty())  // tells rows that failed, or whose z or free width is at a bound, from the others
        columns.push_back({"status", index_type, [](const L& t, std::size_t k) { return double(t.status[k]); }});
    add_extra_columns(like, sees_all, columns);
    return columns;
}

/// As SMLMAnalysis has it, or as wide as the frames and rows need.
hid_t index_type_for(const L& like, std::size_t rows) {
    constexpr auto largest = std::size_t(std::numeric_limits<std::int32_t>::max());
    const auto last = std::max_element(like.frame.begin(), like.frame.end());
    const bool wide = rows > largest || std::size_t(like.frames) > largest || *last >= largest;
    return wide ? H5T_STD_I64LE : H5T_STD_I32LE;
}

class SmlmFile : public LocalizationWriter::Format {
  public:
    SmlmFile(const fs::path& path, const L& like, std::size_t rows, const Target& target)
        : path_(path),
          target_(path, target.if_exists),
          kind_(kind_of(like)),
          index_type_(index_type_for(like, rows)),
          columns_(columns_of(like, kind_, index_type_, target.sees_all)),
          rows_(rows) {
        if (!(like.pixel_size_nm > 0))
            throw OptionError(
                fmt::format("{} is in micrometres, so the pixel size must be known: give it, as in "
                            "--pixel-size 100nm",
                            path.string()));
        extent_.width = like.width, extent_.height = like.height, extent_.frames = like.frames;
        extent_.pixel_size_nm = like.pixel_size_nm, extent_.history = like.history;
        ends_.x_px = {0}, ends_.y_px = {0}, ends_.frame = {0};
        file_ = hdf5::create_file(target_);
        emitters_ = create_group("emitters");
        const hsize_t shape[] = {rows};
        for (const SmlmColumn& column : columns_)
            datasets_.push_back(hdf5::create_dataset(emitters_, column.name.c_str(), column.type, shape, path_));
        ids_ = hdf5::create_dataset(emitters_, "id", index_type_, shape, path_);
    }

    void append(const L& piece) override {
        if (index_type_for(piece, 0) != index_type_ && index_type_ == H5T_STD_I32LE)
            throw OutputError(
                fmt::format("cannot write {}: a frame beyond 2147483647 in a table that was said to have {} frames",
                            path_.string(), extent_.frames));
        const std::size_t n = piece.size();
        numbers_.resize(n), indices_.resize(n);
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            const SmlmColumn& column = columns_[c];
            for (std::size_t k = 0; k < n; ++k) {
                const double value = column.value(piece, k);
                if (column.is_integer())
                    indices_[k] = whole<std::int64_t>(value);
                else
                    numbers_[k] = value;
            }
            const void* values = column.is_integer() ? static_cast<const void*>(indices_.data()) : numbers_.data();
            hdf5::write_rows(datasets_[c], column.is_integer() ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, written_, n,
                             values, path_);
        }
        for (std::size_t k = 0; k < n; ++k) indices_[k] = std::int64_t(written_ + k + 1);
        hdf5::write_rows(ids_, H5T_NATIVE_INT64, written_, n, indices_.data(), path_);
        written_ += n;
        target_.check();
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
        if (rows_ == 0) ends_.frame.clear();  // it has no frames either
        fill_unknown_extent(ends_);
        write_camera();
        write_metadata();
        bool closed = ids_.close() && emitters_.close();
        for (hdf5::Handle& dataset : datasets_) closed &= dataset.close();
        if (!closed || !file_.close()) throw_output_error(path_, 0);
        target_.commit();
    }

  private:
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
    hid_t index_type_;
    std::vector<SmlmColumn> columns_;
    std::size_t rows_, written_ = 0;
    std::int64_t n_datasets_ = 1;
    L extent_, ends_;  ///< metadata only; the outermost row
    hdf5::Handle file_, emitters_, ids_;
    std::vector<hdf5::Handle> datasets_;
    std::vector<double> numbers_;
    std::vector<std::int64_t> indices_;
};

}  // namespace

FormatWriter write_smlm(const fs::path& path, const Localizations& like, std::size_t rows, const Target& target) {
    return std::make_unique<SmlmFile>(path, like, rows, target);
}

}  // namespace glint
