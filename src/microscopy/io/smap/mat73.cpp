// SMAP's .mat of version 7.3: groups are structures, datasets are arrays, lists of references are arrays of structures.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "glint/error.hpp"
#include "io/hdf5/file.hpp"
#include "io/picasso/metadata.hpp"
#include "io/smap/contents.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

H5O_type_t type_of(hid_t place, const std::string& name) {
    H5O_info_t info;
    if (!hdf5::has(place, name.c_str()) || H5Oget_info_by_name(place, name.c_str(), &info, H5P_DEFAULT) < 0)
        return H5O_TYPE_UNKNOWN;
    return info.type;
}

hdf5::Handle open_group(hid_t place, const char* name) {
    if (type_of(place, name) != H5O_TYPE_GROUP) return {};
    return hdf5::Handle(H5Gopen2(place, name, H5P_DEFAULT));
}

std::uint64_t count_of(hid_t dataset) {
    std::uint64_t count = 1;
    for (const hsize_t extent : hdf5::shape_of(dataset)) count *= extent;
    return hdf5::shape_of(dataset).empty() ? 0 : count;
}

/// Reads numbers of a row or a column, from `first` on.
void read_line(hid_t dataset, const std::string& name, const fs::path& path, std::uint64_t from,
               std::span<double> values) {
    if (values.empty()) return;
    const hdf5::Quiet quiet;
    const std::vector<hsize_t> shape = hdf5::shape_of(dataset);
    std::vector<hsize_t> first(shape.size(), 0), count(shape.size(), 1);
    for (std::size_t k = 0; k < shape.size(); ++k)
        if (shape[k] > 1 || shape.size() == 1) first[k] = from, count[k] = values.size();
    const hsize_t length = values.size();
    const hdf5::Handle memory(H5Screate_simple(1, &length, nullptr)), space(H5Dget_space(dataset));
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr) < 0 ||
        H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()) < 0)
        throw InputError(
            fmt::format("{}: values {} to {} of {} cannot be read: the file is damaged; copy or write it again",
                        path.string(), from, from + values.size() - 1, name));
}

bool is_line(const std::vector<hsize_t>& shape) {
    return !shape.empty() && std::count_if(shape.begin(), shape.end(), [](hsize_t n) { return n != 1; }) <= 1;
}

/// Returns the numbers of a small field.
std::vector<double> small_numbers(hid_t group, const char* name, const fs::path& path) {
    constexpr std::uint64_t max_numbers = 1000;
    if (type_of(group, name) != H5O_TYPE_DATASET) return {};
    const hdf5::Handle dataset = hdf5::open_dataset(group, name, path);
    const hdf5::Handle type(H5Dget_type(dataset));
    if (!hdf5::is_numeric(type) || H5Aexists(dataset, "MATLAB_empty") > 0 || count_of(dataset) > max_numbers) return {};
    return hdf5::read_doubles(dataset, name, path);
}

SmapMovie movie_of(hid_t info, const fs::path& path) {
    return smap_movie([&](const char* field, std::size_t k) {
        const std::vector<double> numbers = small_numbers(info, field, path);
        return k < numbers.size() ? numbers[k] : 0.0;
    });
}

/// Reads saveloc.file: a structure, or one whose fields are lists of references.
std::vector<SmapMovie> movies_of(hid_t saveloc, const fs::path& path) {
    std::vector<SmapMovie> movies;
    const hdf5::Handle file = open_group(saveloc, "file");
    if (!file.valid()) return movies;
    if (const hdf5::Handle info = open_group(file, "info"); info.valid()) return {movie_of(info, path)};
    if (type_of(file, "info") != H5O_TYPE_DATASET) return movies;
    const hdf5::Handle list = hdf5::open_dataset(file, "info", path);
    const hdf5::Handle type(H5Dget_type(list));
    if (H5Tequal(type, H5T_STD_REF_OBJ) <= 0 || count_of(list) > smap_max_files) return movies;
    std::vector<hobj_ref_t> references(count_of(list));
    if (H5Dread(list, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, references.data()) < 0) return movies;
    for (const hobj_ref_t& reference : references) {
        const hdf5::Handle info(H5Rdereference2(list, H5P_DEFAULT, H5R_OBJECT, &reference));
        if (info.valid() && H5Iget_type(info) == H5I_GROUP) movies.push_back(movie_of(info, path));
    }
    return movies;
}

/// Reads glint's history, a text in `saveloc`.
std::vector<std::string> history_of(hid_t saveloc, const fs::path& path, const Warn& warn) {
    constexpr const char* name = "glint_history";
    if (type_of(saveloc, name) != H5O_TYPE_DATASET) return {};
    const hdf5::Handle dataset = hdf5::open_dataset(saveloc, name, path);
    if (hdf5::read_string_attribute(dataset, "MATLAB_class").value_or("") != "char" ||
        count_of(dataset) > largest_metadata_bytes)
        return {};
    std::string text;
    for (const double letter : hdf5::read_doubles(dataset, name, path))
        text += letter >= 0 && letter < 256 ? char(int(letter)) : '?';
    return understood_steps(path.string() + ": saveloc.glint_history", text, steps_from_json, warn);
}

}  // namespace

SmapMovie smap_movie(const std::function<double(const char*, std::size_t)>& number) {
    const auto positive = [&](const char* field, std::size_t k, double most) {
        const double value = number(field, k);
        return value > 0 && value <= most ? value : 0.0;
    };
    constexpr double nm_of_um = 1000, max_px = 1e6, max_um = 1e6, max_frames = 4294967296.0;
    SmapMovie movie;
    movie.pixel_x_nm = nm_of_um * positive("cam_pixelsize_um", 0, max_um);
    movie.pixel_y_nm = nm_of_um * positive("cam_pixelsize_um", 1, max_um);
    if (movie.pixel_x_nm == 0) movie.pixel_x_nm = nm_of_um * positive("pixsize", 0, max_um);  // of old versions
    if (movie.pixel_y_nm == 0) movie.pixel_y_nm = movie.pixel_x_nm;
    movie.corner_x_px = positive("roi", 0, max_px), movie.corner_y_px = positive("roi", 1, max_px);
    movie.width = positive("roi", 2, max_px), movie.height = positive("roi", 3, max_px);
    if (movie.width == 0) movie.width = positive("Width", 0, max_px);
    if (movie.height == 0) movie.height = positive("Height", 0, max_px);
    movie.frames = positive("numberOfFrames", 0, max_frames);
    return movie;
}

SmapContents smap_contents_of_hdf5(const fs::path& path, const Warn& warn) {
    const hdf5::Quiet quiet;
    const auto file = std::make_shared<hdf5::Handle>(hdf5::open_file(path));
    const hdf5::Handle saveloc = open_group(*file, "saveloc");
    const hdf5::Handle loc = saveloc.valid() ? open_group(saveloc, "loc") : hdf5::Handle();
    if (!loc.valid())
        throw InputError(fmt::format("{}: has no structure saveloc.loc, so it is no table of SMAP", path.string()));
    SmapContents contents;
    for (const std::string& name : hdf5::names_in(loc)) {
        if (contents.columns.size() + contents.skipped.size() >= smap_max_fields)
            throw InputError(fmt::format("{}: saveloc.loc has more than {} fields, the limit: remove some in MATLAB",
                                         path.string(), smap_max_fields));
        if (type_of(loc, name) != H5O_TYPE_DATASET) {
            contents.skipped.push_back(name);
            continue;
        }
        const auto dataset = std::make_shared<hdf5::Handle>(hdf5::open_dataset(loc, name.c_str(), path));
        const hdf5::Handle type(H5Dget_type(*dataset));
        const bool is_empty = H5Aexists(*dataset, "MATLAB_empty") > 0;
        const bool is_integer = H5Tget_class(type) == H5T_INTEGER || H5Aexists(*dataset, "glint_integer") > 0;
        if (!hdf5::is_numeric(type) || (!is_empty && !is_line(hdf5::shape_of(*dataset)))) {
            contents.skipped.push_back(name);
            continue;
        }
        contents.columns.push_back({name, is_empty ? 0 : count_of(*dataset), is_integer,
                                    [=, where = path](std::uint64_t first, std::span<double> values) {
                                        (void)file;  // keeps the file open as long as its datasets
                                        read_line(*dataset, name, where, first, values);
                                    }});
    }
    contents.movies = movies_of(saveloc, path);
    contents.history = history_of(saveloc, path, warn);
    return contents;
}

}  // namespace glint
