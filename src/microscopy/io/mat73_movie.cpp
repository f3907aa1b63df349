// MATLAB's -v7.3 files: HDF5, with an array of rows, columns and frames as (frames, columns, rows).
// SPDX-License-Identifier: MIT
#include "io/mat73_movie.hpp"

#include <string>
#include <vector>

#include "io/hdf5/chunked_array.hpp"
#include "io/hdf5/dataset_movie.hpp"
#include "io/hdf5/file.hpp"
#include "io/mat_arrays.hpp"

namespace glint {
namespace {

/// A dataset of the file's root that may be looked at; invalid for links, groups and what is damaged.
hdf5::Handle dataset_of(hid_t file, const std::string& name) {
    H5L_info_t link;
    if (H5Lget_info(file, name.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) return {};
    H5O_info_t info;
    if (H5Oget_info_by_name(file, name.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5O_TYPE_DATASET) return {};
    return hdf5::Handle(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
}

/// Not a mask, nor text: both are stored as whole numbers.
bool holds_numbers(hid_t dataset) {
    const std::string matlab_class = hdf5::read_string_attribute(dataset, "MATLAB_class").value_or("");
    return matlab_class != "logical" && matlab_class != "char";
}

std::vector<MatArray> arrays_of(hid_t file) {
    std::vector<MatArray> arrays;
    for (const std::string& name : hdf5::names_in(file)) {
        const hdf5::Handle dataset = dataset_of(file, name);
        if (!dataset.valid()) continue;
        const hdf5::Handle type(H5Dget_type(dataset));
        const auto shape = hdf5::shape_of(dataset);
        const auto stored = hdf5::stored_type(type);
        MatArray array;
        array.name = name;
        array.dimensions.assign(shape.rbegin(), shape.rend());
        if (stored && !hdf5::three_dimensions(shape).empty() && holds_numbers(dataset))
            array.type = movie_type(stored->pixel);
        arrays.push_back(std::move(array));
    }
    return arrays;
}

}  // namespace

std::unique_ptr<Movie> open_mat73(const std::filesystem::path& path) {
    const hdf5::Quiet quiet;
    const hdf5::Handle file = hdf5::open_file(path);
    const MatArray array = movie_of(arrays_of(file), path.string());
    const hdf5::Handle dataset = hdf5::open_dataset(file, array.name.c_str(), path);
    return hdf5::movie_of_dataset(path, dataset, array.name, true);
}

}  // namespace glint
