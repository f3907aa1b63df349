// Reads maps from files of other programs. Each is checked before memory is allocated for its values.
// SPDX-License-Identifier: MIT
#include "io/camera/maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "glint/camera.hpp"
#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/file.hpp"
#include "io/mat_arrays.hpp"
#include "io/movie_readers.hpp"
#include "io/npy/values.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t largest_map_edge_px = 32768;
// More than any camera has. A small file of compressed zeros may claim any number of pixels.
constexpr std::uint64_t max_map_pixels = std::uint64_t(1) << 26;

template <class Size>
void check_map_shape(const std::string& file, const std::string& name, const std::vector<Size>& shape) {
    const auto refuse = [&](const std::string& why) { throw InputError(fmt::format("{}: {} {}", file, name, why)); };
    const auto is_edge = [](Size px) { return px >= 1 && std::uint64_t(px) <= largest_map_edge_px; };
    if (shape.size() != 2 || !is_edge(shape[0]) || !is_edge(shape[1]))
        refuse(fmt::format("must have two dimensions, height and width, of 1 to {} pixels, and has ({})",
                           largest_map_edge_px, fmt::join(shape, ", ")));
    if (std::uint64_t(shape[0]) * std::uint64_t(shape[1]) > max_map_pixels)
        refuse(fmt::format("has {}x{} pixels, more than the limit of {}", shape[1], shape[0], max_map_pixels));
}

/// Converts column-major to row-major order.
std::vector<float> rows_of(const std::vector<float>& columns, std::size_t height, std::size_t width) {
    std::vector<float> rows(columns.size());
    for (std::size_t y = 0; y < height; ++y)
        for (std::size_t x = 0; x < width; ++x) rows[y * width + x] = columns[x * height + y];
    return rows;
}

/// Returns the only frame of a movie.
StoredMap map_of_frame(Movie& movie, const std::string& name) {
    const MovieInfo& info = movie.info();
    StoredMap map{name, std::uint64_t(info.height), std::uint64_t(info.width), {}, {}};
    FrameBlock block;
    movie.read(0, 1, block);
    map.values.resize(std::size_t(map.height * map.width));
    CameraView(Camera{}, info.width, info.height)  // unchanged counts, NaN too
        .window_to_photoelectrons(block.bytes.data(), info.type, 0, 0, info.width, info.height, map.values.data());
    return map;
}

using Names = std::vector<std::string>;

const Names& hdf5_names_of(const std::string& quantity) {
    static const std::map<std::string, Names> names{{"offset", {"offset"}},
                                                    {"gain", {"gain"}},
                                                    {"readnoise", {"readnoise", "read_noise"}},
                                                    {"readvar", {"readvar", "variance"}},
                                                    {"qe", {"qe", "relative_qe"}},
                                                    {"faults", {"faults"}}};
    return names.at(quantity);
}

/// "ccd...": INSPR and other programs that follow Huang et al.; "...map" and "mean": SMAP.
const Names& mat_names_of(const std::string& quantity) {
    static const std::map<std::string, Names> names{{"offset", {"offset", "ccdoffset", "offsetmap", "mean"}},
                                                    {"gain", {"gain", "gainmap"}},
                                                    {"readnoise", {"readnoise", "read_noise"}},
                                                    {"readvar", {"readvar", "ccdvar", "varmap", "variance"}},
                                                    {"qe", {"qe", "relative_qe"}},
                                                    {"faults", {"faults"}}};
    return names.at(quantity);
}

class Hdf5Maps : public MapSource {
  public:
    explicit Hdf5Maps(const fs::path& path) : path_(path), file_(hdf5::open_file(path)) {}

    std::optional<StoredMap> find(const std::string& quantity) override {
        for (const std::string& name : hdf5_names_of(quantity))
            if (hdf5::has(file_, name.c_str())) return read(name.c_str());
        return {};
    }
    /// Picasso's calibrations, which have their metadata as an attribute, are in ADU/e-.
    std::optional<GainUnit> default_gain_unit() const override {
        if (hdf5::has(file_, "variance") && hdf5::has(file_, "offset") && H5Aexists(file_, "metadata") > 0)
            return GainUnit::adu_per_e;
        return {};
    }
    std::string where() const override { return path_.string(); }
    std::string wanted() const override { return "offset, gain, readnoise (or readvar, variance), qe, faults"; }

  private:
    StoredMap read(const char* name) {
        const hdf5::Handle dataset = hdf5::open_dataset(file_, name, path_);
        const std::vector<hsize_t> shape = hdf5::shape_of(dataset);
        check_map_shape(path_.string(), name, shape);
        StoredMap map{name, shape[0], shape[1], {}, {}};
        for (const char* attribute : {"unit", "units"}) {
            if (H5Aexists(dataset, attribute) <= 0) continue;
            map.unit = hdf5::read_string_attribute(dataset, attribute);
            if (!map.unit)
                throw InputError(fmt::format("{}: the attribute {} of {} is no text or damaged: write it again",
                                             path_.string(), attribute, name));
        }
        map.values = hdf5::read_floats(dataset, name, path_);
        return map;
    }

    fs::path path_;
    hdf5::Handle file_;
};

/// Reads .mat files of version 5 to 7, and of version 7.3, which is HDF5 with the dimensions in reverse order.
class MatMaps : public MapSource {
  public:
    explicit MatMaps(const fs::path& path) : path_(path) {
        const InputFile file(path);
        if (mat_version(file) == MatVersion::hdf5) {
            hdf5_ = hdf5::open_file(path);
            names_ = hdf5::names_in(hdf5_);
        } else {
            mat_ = read_mat(file);
            for (const MatArray& array : mat_.arrays) names_.push_back(array.name);
        }
        for (const std::string& name : names_)
            if (name.starts_with("ccdoffset_ch"))
                throw InputError(fmt::format(
                    "{}: has maps of several channels ({}): save those of one as ccdoffset, ccdvar and gain",
                    path.string(), name));
    }

    std::optional<StoredMap> find(const std::string& quantity) override {
        std::vector<std::string> there;
        for (const std::string& name : mat_names_of(quantity))
            if (has(name)) there.push_back(name);
        if (there.size() > 1)
            throw InputError(fmt::format("{}: has {}, which are names of one quantity: save the right one alone",
                                         path_.string(), fmt::join(there, " and ")));
        if (there.empty()) return {};
        return hdf5_.valid() ? read_hdf5(there[0]) : read_array(there[0]);
    }
    std::optional<GainUnit> default_gain_unit() const override {
        if (has("ccdoffset") || has("ccdvar")) return GainUnit::adu_per_e;
        return {};
    }
    std::string where() const override { return path_.string(); }
    std::string wanted() const override {
        return fmt::format(
            "offset (or ccdoffset, offsetmap, mean), gain (gainmap), variance (readvar, ccdvar, varmap), readnoise, "
            "qe, faults; its variables: {}",
            names_.empty()
                ? "none"
                : fmt::format("{}", fmt::join(names_.begin(),
                                              names_.begin() + std::ptrdiff_t(std::min<std::size_t>(names_.size(), 20)),
                                              ", ")));
    }

  private:
    bool has(const std::string& name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

    StoredMap read_hdf5(const std::string& name) const {
        const hdf5::Handle dataset = hdf5::open_dataset(hdf5_, name.c_str(), path_);
        std::vector<hsize_t> shape = hdf5::shape_of(dataset);
        std::reverse(shape.begin(), shape.end());
        check_map_shape(path_.string(), name, shape);
        StoredMap map{name, shape[0], shape[1], {}, {}};
        map.values =
            rows_of(hdf5::read_floats(dataset, name.c_str(), path_), std::size_t(shape[0]), std::size_t(shape[1]));
        return map;
    }
    StoredMap read_array(const std::string& name) const {
        const auto array =
            std::find_if(mat_.arrays.begin(), mat_.arrays.end(), [&](const MatArray& one) { return one.name == name; });
        if (!array->is_numeric())
            throw InputError(fmt::format("{}: {} is no array of real numbers", path_.string(), array->described()));
        check_map_shape(path_.string(), name, array->dimensions);
        MatArray frame = *array;
        frame.dimensions.push_back(1);
        frame.type = PixelType::float32;
        return map_of_frame(*movie_of_array(path_, frame, mat_.big_endian), name);
    }

    fs::path path_;
    hdf5::Handle hdf5_;
    MatFile mat_;
    Names names_;
};

StoredMap npy_map(const InputFile& file) {
    const NpyHeader header = read_npy_header(file);
    check_map_shape(file.name(), "its array", header.shape);
    StoredMap map{"its array", header.shape[0], header.shape[1], {}, {}};
    const std::uint64_t values = map.height * map.width, stored = npy_values_stored(file, header);
    if (stored < values)
        throw InputError(fmt::format("{}: is truncated: its header says {} values, {} are there whole; copy it again",
                                     file.name(), values, stored));
    map.values = read_npy_values(file, header, values);
    if (header.fortran_order) map.values = rows_of(map.values, std::size_t(map.height), std::size_t(map.width));
    return map;
}

StoredMap tiff_map(const fs::path& path) {
    const auto [movie, truncated, ome, axes] = open_tiff_movie(path);
    const MovieInfo& info = movie->info();
    if (truncated) throw InputError(info.warnings.back() + ": copy the file again");
    if (info.frames != 1)
        throw InputError(
            fmt::format("{}: has {} pages, and a map is one: save the right one alone", path.string(), info.frames));
    check_map_shape(path.string(), "its image", std::vector<int>{info.height, info.width});
    return map_of_frame(*movie, "its image");
}

class MapFiles : public MapSource {
  public:
    explicit MapFiles(std::vector<std::pair<std::string, fs::path>> files) : files_(std::move(files)) {}

    std::optional<StoredMap> find(const std::string& quantity) override {
        for (const auto& [name, path] : files_)
            if (name == quantity) return map_in_file(path, quantity);
        return {};
    }
    std::string where() const override { return files_.front().second.string(); }
    std::string wanted() const override { return "offset, gain, readnoise, readvar, qe"; }

  private:
    std::vector<std::pair<std::string, fs::path>> files_;
};

}  // namespace

std::unique_ptr<MapSource> open_map_source(const fs::path& path) {
    const bool is_mat = mat_version(InputFile(path)) != MatVersion::none;
    if (is_mat) return std::make_unique<MatMaps>(path);
    return std::make_unique<Hdf5Maps>(path);
}

StoredMap map_in_file(const fs::path& path, const std::string& quantity) {
    const InputFile file(path);
    const bool is_npy = begins_with(file, "\x93NUMPY");
    if (!is_npy && !begins_like_tiff(file))
        throw InputError(fmt::format(
            "{}: is no map: it begins neither like .npy nor TIFF; maps of HDF5 and .mat are for maps = \"...\"",
            path.string()));
    StoredMap map = is_npy ? npy_map(file) : tiff_map(path);
    map.name = fmt::format("{} ({})", quantity, path.filename().string());
    return map;
}

std::unique_ptr<MapSource> map_files(std::vector<std::pair<std::string, fs::path>> files) {
    return std::make_unique<MapFiles>(std::move(files));
}

}  // namespace glint
