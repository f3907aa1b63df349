// ROI stacks from NumPy's .npy files.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/npy/values.hpp"
#include "io/roi_readers.hpp"

namespace glint {
namespace {

// In Fortran order, the ROI's number varies fastest and the column slowest.
std::vector<float> c_order_from_fortran_order(const std::vector<float>& fortran, std::size_t rois, std::size_t size) {
    std::vector<float> c(fortran.size());
    for (std::size_t column = 0; column < size; ++column)
        for (std::size_t row = 0; row < size; ++row)
            for (std::size_t k = 0; k < rois; ++k)
                c[(k * size + row) * size + column] = fortran[(column * size + row) * rois + k];
    return c;
}

}  // namespace

int roi_size_of_shape(const std::vector<std::uint64_t>& shape, const std::string& file) {
    if (shape.size() == 3 && shape[0] >= 1 && shape[1] == shape[2] && shape[1] >= min_roi_size &&
        shape[1] <= max_roi_size)
        return int(shape[1]);
    throw InputError(
        fmt::format("{}: its shape ({}) is no stack of ROIs: (n, S, S) with n >= 1 and S from {} to {} is; a movie is "
                    "for `glint localize`",
                    file, fmt::join(shape, ", "), min_roi_size, max_roi_size));
}

RoiCounts read_npy_rois(const std::filesystem::path& path) {
    const InputFile file(path);
    const NpyHeader header = read_npy_header(file);
    RoiCounts rois;
    rois.size = roi_size_of_shape(header.shape, file.name());
    const std::uint64_t roi_values = std::uint64_t(rois.size) * std::uint64_t(rois.size);
    const std::uint64_t whole_rois = npy_values_stored(file, header) / roi_values;
    if (header.shape[0] > whole_rois)
        throw InputError(fmt::format("{}: is truncated: its header says {} ROIs, {} are there whole; copy it again",
                                     file.name(), header.shape[0], whole_rois));
    rois.count = std::size_t(header.shape[0]);
    const std::uint64_t values = rois.count * roi_values;
    if (const std::optional<PixelType> type = npy_pixel_type(header); type && !header.fortran_order) {
        rois.type = *type, rois.of_type = read_npy_pixels(file, header, *type, values);
        return rois;
    }
    rois.floats = read_npy_values(file, header, values);
    if (header.fortran_order) rois.floats = c_order_from_fortran_order(rois.floats, rois.count, std::size_t(rois.size));
    return rois;
}

}  // namespace glint
