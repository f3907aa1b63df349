// Reads the HDF5 of the Julia chain (SMLMAnalysis): a group of columns in micrometres.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "glint/error.hpp"
#include "io/hdf5/file.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// The pixels' edges along one axis: where they start and how large they are, micrometres.
struct CameraAxis {
    double origin_um = 0, pixel_um = 0;
    int pixels = 0;
};

CameraAxis read_axis(hid_t file, const char* name, const fs::path& path) {
    if (!hdf5::has(file, "camera") || H5Lexists(file, name, H5P_DEFAULT) <= 0) return {};
    const std::vector<double> edges = hdf5::read_doubles(hdf5::open_dataset(file, name, path), name, path);
    if (edges.size() < 2 || !(edges[1] > edges[0])) return {};
    return {edges[0], (edges.back() - edges.front()) / double(edges.size() - 1),
            int(std::min<std::size_t>(edges.size() - 1, 1'000'000))};
}

struct Meaning {
    const char* dataset;
    std::vector<std::string> names;  ///< of the table's columns; none: skipped
    enum Kind { index, plain, lateral, axial } kind;
};

const std::vector<Meaning>& meanings() {
    static const std::vector<Meaning> all = {
        {"photons", {"photons"}, Meaning::plain},
        {"bg", {"bg"}, Meaning::plain},
        {"z", {"z"}, Meaning::axial},
        {"sigma_x", {"lpx"}, Meaning::lateral},
        {"sigma_y", {"lpy"}, Meaning::lateral},
        {"sigma_z", {"lpz"}, Meaning::axial},
        {"sigma_photons", {"photons_unc"}, Meaning::plain},
        {"sigma_bg", {"bg_unc"}, Meaning::plain},
        {"psf_sigma", {"sx", "sy"}, Meaning::lateral},
        {"psf_sigma_x", {"sx"}, Meaning::lateral},
        {"psf_sigma_y", {"sy"}, Meaning::lateral},
        {"sigma_psf_sigma", {"sx_unc", "sy_unc"}, Meaning::lateral},
        {"sigma_psf_sigma_x", {"sx_unc"}, Meaning::lateral},
        {"sigma_psf_sigma_y", {"sy_unc"}, Meaning::lateral},
        {"pvalue", {"p_value"}, Meaning::plain},
        {"id", {}, Meaning::index},
    };
    return all;
}

Meaning meaning_of(const std::string& dataset) {
    for (const Meaning& meaning : meanings())
        if (dataset == meaning.dataset) return meaning;
    return {"", {dataset}, Meaning::plain};
}

/// A dataset, and the columns of the builder that it fills.
struct SmlmSource {
    hdf5::Handle stored;
    std::string name;
    std::vector<int> columns;
};

class SmlmTable : public TableFile {
  public:
    SmlmTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of) : TableFile(from, warn_of) {
        const hdf5::Quiet quiet;
        file_ = hdf5::open_file(path);
        idle = {"dataset", "track_id"};  // absent: all rows are of one data set, or none is linked
        x_ = read_axis(file_, "camera/pixel_edges_x", path);
        y_ = read_axis(file_, "camera/pixel_edges_y", path);
        if (x_.pixel_um <= 0) x_.pixel_um = pixel_size_nm / 1000;
        if (y_.pixel_um <= 0) y_.pixel_um = x_.pixel_um;
        if (!(x_.pixel_um > 0))
            throw OptionError(
                fmt::format("{} has no /camera/pixel_edges_x, so its pixel size is unknown: give it, "
                            "as in `table_pixel_size=100nm`",
                            path.string()));
        add_columns();
        about.pixel_size_nm = x_.pixel_um * 1000;
        about.width = x_.pixels, about.height = y_.pixels, about.frames = frames();
        about.history = smlm_history(path, file_, warn);
    }

    void restart() override { read_ = 0; }

    std::size_t add_rows(std::size_t most) override {
        const hsize_t count = std::min<hsize_t>(most, *rows - read_);
        for (const SmlmSource& source : sources_) {
            const std::vector<double> values =
                hdf5::read_doubles(source.stored, source.name.c_str(), path, read_, count);
            for (int column : source.columns) builder.add_values(column, values);
        }
        read_ += count;
        return std::size_t(count);
    }

  private:
    void add_columns() {
        const hdf5::Handle group(H5Gopen2(file_, "emitters", H5P_DEFAULT));
        if (!group.valid()) throw InputError(fmt::format("{}: /emitters is not a group", path.string()));
        add(group, "frame", {"frame"}, 1, -1);
        add(group, "x", {"x"}, 1 / x_.pixel_um, -0.5 - x_.origin_um / x_.pixel_um);
        add(group, "y", {"y"}, 1 / y_.pixel_um, -0.5 - y_.origin_um / y_.pixel_um);
        for (const std::string& name : hdf5::names_in(group)) {
            if (name == "frame" || name == "x" || name == "y") continue;
            const Meaning meaning = meaning_of(name);
            const double scale = meaning.kind == Meaning::lateral ? 1 / x_.pixel_um
                                 : meaning.kind == Meaning::axial ? 1000
                                                                  : 1;
            add(group, name, meaning.names, scale, 0);
        }
    }

    void add(hid_t group, const std::string& dataset, const std::vector<std::string>& names, double scale,
             double shift) {
        if (names.empty() || !hdf5::has(group, dataset.c_str())) return;
        SmlmSource source{{}, "emitters/" + dataset, {}};
        source.stored = hdf5::open_dataset(file_, source.name.c_str(), path);
        const hdf5::Handle type(H5Dget_type(source.stored));
        const std::vector<hsize_t> shape = hdf5::shape_of(source.stored);
        if (shape.size() != 1 || !hdf5::is_numeric(type))
            throw InputError(fmt::format("{}: /{} is no list of numbers", path.string(), source.name));
        if (dataset == "frame") rows = shape[0];
        if (shape[0] != rows.value_or(0))
            throw InputError(fmt::format("{}: /{} has {} values, /emitters/frame {}", path.string(), source.name,
                                         shape[0], rows.value_or(0)));
        for (const std::string& name : names)
            if (const int column = builder.add_column(name, scale, shift); column >= 0) {
                source.columns.push_back(column);
                if (H5Tget_class(type) == H5T_INTEGER) builder.set_integer(column);
            }
        if (!source.columns.empty()) sources_.push_back(std::move(source));
    }

    std::int64_t frames() const {
        if (H5Lexists(file_, "metadata", H5P_DEFAULT) <= 0 || H5Lexists(file_, "metadata/n_frames", H5P_DEFAULT) <= 0)
            return 0;
        const auto values =
            hdf5::read_doubles(hdf5::open_dataset(file_, "metadata/n_frames", path), "metadata/n_frames", path);
        return values.size() == 1 && values[0] >= 0 && values[0] < 4294967296.0 ? std::int64_t(values[0]) : 0;
    }

    hdf5::Handle file_;
    CameraAxis x_, y_;
    std::vector<SmlmSource> sources_;
    hsize_t read_ = 0;
};

}  // namespace

OpenTable open_smlm(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<SmlmTable>(path, pixel_size_nm, warn);
}

std::vector<std::string> smlm_history(const fs::path& path, hid_t file, const Warn& warn) {
    if (!hdf5::has(file, "metadata")) return {};
    const auto text = hdf5::read_string_dataset(file, "metadata/history");
    return text ? understood_steps(path.string() + ": /metadata/history", *text, steps_from_json, warn) : Steps();
}

TableFormat smlm_analysis_tables() {
    return {.name = "SMLMAnalysis",
            .endings = {".smlm.h5", "_smlm.h5", ".smlm.hdf5", "_smlm.hdf5"},
            .is = [](const TableContent& content) { return content.hdf5 >= 0 && hdf5::has(content.hdf5, "emitters"); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_smlm(path, pixel_size_nm, warn); },
            .write = write_smlm,
            .left_out = left_out_of_smlm,
            .cannot_hold = "columns that SMLMData.jl does not know",
            .history = [](const fs::path& path, hid_t file) { return smlm_history(path, file); }};
}

}  // namespace glint
