// Reads ROI stacks from HDF5, with corners and frames if the file contains them.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <limits>

#include "glint/error.hpp"
#include "io/hdf5/file.hpp"
#include "io/roi_readers.hpp"

namespace glint {
namespace {

/// Reads a dataset of one integer per ROI; empty if the file has none.
template <class T>
std::vector<T> read_per_roi(hid_t file, const char* name, std::size_t rois, const std::filesystem::path& path) {
    if (!hdf5::has(file, name)) return {};
    const hdf5::Handle dataset = hdf5::open_dataset(file, name, path);
    const auto shape = hdf5::shape_of(dataset);
    if (shape.size() != 1 || shape[0] != rois)
        throw InputError(fmt::format("{}: `{}` has the shape ({}), not one value for each of {} ROIs", path.string(),
                                     name, fmt::join(shape, ", "), rois));
    const auto values = hdf5::read_doubles(dataset, name, path);
    std::vector<T> out(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
        // Written so that NaN fails too.
        if (!(values[k] >= 0 && values[k] <= double(std::numeric_limits<T>::max()) &&
              values[k] == double(T(values[k]))))
            throw InputError(fmt::format("{}: `{}` of ROI {} is {}, no whole number from 0 to {}", path.string(), name,
                                         k, values[k], std::numeric_limits<T>::max()));
        out[k] = T(values[k]);
    }
    return out;
}

}  // namespace

RoiCounts read_hdf5_rois(const std::filesystem::path& path) {
    const hdf5::Quiet quiet;
    const hdf5::Handle file = hdf5::open_file(path);
    const char* name = hdf5::has(file, "rois") ? "rois" : "data";
    if (!hdf5::has(file, name))
        throw InputError(fmt::format("{}: has neither a dataset `rois` nor `data`; it has: {}", path.string(),
                                     fmt::join(hdf5::names_in(file), ", ")));
    const hdf5::Handle dataset = hdf5::open_dataset(file, name, path);
    const auto extents = hdf5::shape_of(dataset);
    RoiCounts rois;
    rois.size = roi_size_of_shape({extents.begin(), extents.end()}, path.string());
    const auto count = rois.count = std::size_t(extents[0]);
    rois.floats = hdf5::read_floats(dataset, name, path);
    rois.x_corner = read_per_roi<std::int32_t>(file, "x_corner", count, path);
    rois.y_corner = read_per_roi<std::int32_t>(file, "y_corner", count, path);
    rois.frame = read_per_roi<std::uint32_t>(file, "frame", count, path);
    if (rois.x_corner.empty() != rois.y_corner.empty())
        throw InputError(
            fmt::format("{}: has only one of `x_corner` and `y_corner`: a place needs both", path.string()));
    return rois;
}

}  // namespace glint
