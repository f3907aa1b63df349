// Reads the HDF5 of the Julia chain (SMLMAnalysis): a group of columns in micrometres.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "glint/error.hpp"
#include "io/hdf5/file.hpp"
#include "io/localization_builder.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// The pixels' edges along one axis: where they start and how large they are, micrometres.
struct Axis {
    double origin_um = 0, pixel_um = 0;
    int pixels = 0;
};

Axis read_axis(hid_t file, const char* name, const fs::path& path) {
    if (!hdf5::has(file, "camera") || H5Lexists(file, name, H5P_DEFAULT) <= 0) return {};
    const std::vector<double> edges = hdf5::read_doubles(hdf5::open_dataset(file, name, path), name, path);
    if (edges.size() < 2 || !(edges[1] > edges[0])) return {};
    return {edges[0], (edges.back() - edges.front()) / double(edges.size() - 1),
            int(std::min<std::size_t>(edges.size() - 1, 1'000'000))};
}

struct Meaning {
    const char* dataset;
    std::vector<std::string> names;  ///< of the table; none: passed over
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

class SmlmTable {
  public:
    SmlmTable(const fs::path& path, hid_t file, double pixel_size_nm, const Warn& warn)
        : path_(path), file_(file), builder_(path.string(), warn) {
        x_ = read_axis(file, "camera/pixel_edges_x", path);
        y_ = read_axis(file, "camera/pixel_edges_y", path);
        if (x_.pixel_um <= 0) x_.pixel_um = pixel_size_nm / 1000;
        if (y_.pixel_um <= 0) y_.pixel_um = x_.pixel_um;
        if (!(x_.pixel_um > 0))
            throw OptionError(
                fmt::format("{} has no /camera/pixel_edges_x, so the pixel size must be told: give it, "
                            "as in --pixel-size 100nm",
                            path.string()));
    }

    Localizations read() {
        group_ = hdf5::Handle(H5Gopen2(file_, "emitters", H5P_DEFAULT));
        if (!group_.valid()) throw InputError(fmt::format("{}: /emitters is not a group", path_.string()));
        add("frame", {"frame"}, 1, -1);
        add("x", {"x"}, 1 / x_.pixel_um, -0.5 - x_.origin_um / x_.pixel_um);
        add("y", {"y"}, 1 / y_.pixel_um, -0.5 - y_.origin_um / y_.pixel_um);
        for (const std::string& name : hdf5::names_in(group_)) {
            if (name == "frame" || name == "x" || name == "y") continue;
            const Meaning meaning = meaning_of(name);
            const double scale = meaning.kind == Meaning::lateral ? 1 / x_.pixel_um
                                 : meaning.kind == Meaning::axial ? 1000
                                                                  : 1;
            add(name, meaning.names, scale, 0);
        }
        Localizations out = builder_.finish();
        for (const char* constant : {"dataset", "track_id"}) drop_if_constant(out, constant);
        out.pixel_size_nm = x_.pixel_um * 1000;
        out.width = x_.pixels, out.height = y_.pixels, out.frames = frames();
        fill_unknown_extent(out);
        return out;
    }

  private:
    void add(const std::string& dataset, const std::vector<std::string>& names, double scale, double shift) {
        if (names.empty() || !hdf5::has(group_, dataset.c_str())) return;
        const std::string full = "emitters/" + dataset;
        const hdf5::Handle stored = hdf5::open_dataset(file_, full.c_str(), path_), type(H5Dget_type(stored));
        const std::vector<double> values = hdf5::read_doubles(stored, full.c_str(), path_);
        if (dataset == "frame") rows_ = values.size();
        if (values.size() != rows_)
            throw InputError(
                fmt::format("{}: /{} has {} values, /emitters/frame {}", path_.string(), full, values.size(), rows_));
        for (const std::string& name : names)
            if (const int column = builder_.add_column(name, scale, shift); column >= 0) {
                builder_.add_values(column, values);
                if (H5Tget_class(type) == H5T_INTEGER) builder_.set_integer(column);
            }
    }

    /// Drops a column whose absence means the same: all rows are of one dataset, or none is linked.
    static void drop_if_constant(Localizations& table, const char* name) {
        const auto found = table.extra.find(name);
        if (found == table.extra.end()) return;
        const std::vector<double>& values = found->second.values;
        if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end())
            table.extra.erase(found);
    }

    std::int64_t frames() const {
        if (H5Lexists(file_, "metadata", H5P_DEFAULT) <= 0 || H5Lexists(file_, "metadata/n_frames", H5P_DEFAULT) <= 0)
            return 0;
        const auto values =
            hdf5::read_doubles(hdf5::open_dataset(file_, "metadata/n_frames", path_), "metadata/n_frames", path_);
        return values.size() == 1 && values[0] >= 0 && values[0] < 4294967296.0 ? std::int64_t(values[0]) : 0;
    }

    fs::path path_;
    hid_t file_;
    LocalizationBuilder builder_;
    Axis x_, y_;
    hdf5::Handle group_;
    std::size_t rows_ = 0;
};

}  // namespace

Localizations read_smlm(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    const hdf5::Quiet quiet;
    const hdf5::Handle file = hdf5::open_file(path);
    Localizations table = SmlmTable(path, file, pixel_size_nm, warn).read();
    table.history = smlm_history(path, file, warn);
    return table;
}

std::vector<std::string> smlm_history(const fs::path& path, hid_t file, const Warn& warn) {
    if (!hdf5::has(file, "metadata")) return {};
    const auto text = hdf5::read_string_dataset(file, "metadata/history");
    return text ? understood_steps(path.string() + ": /metadata/history", *text, steps_from_json, warn) : Steps();
}

}  // namespace glint
