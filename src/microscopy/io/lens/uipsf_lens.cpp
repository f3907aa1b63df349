// uiPSF's results: HDF5 with the spline in locres/coeff, and JSON (Liu et al., Nat. Methods 21, 1082 (2024)).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/error.hpp"
#include "io/lens/lens_formats.hpp"
#include "io/lens/python_json.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using UiPsfJson = nlohmann::json;

constexpr const char *uipsf_group = "locres", *uipsf_values = "coeff", *uipsf_parameters = "params";

double uipsf_size_nm(const UiPsfJson& parameters, const char* axis, const fs::path& path) {
    constexpr double nm_per_um = 1000;
    const UiPsfJson::json_pointer place(fmt::format("/pixel_size/{}", axis));
    if (parameters.is_object() && parameters.contains(place) && parameters[place].is_number())
        return nm_per_um * parameters[place].get<double>();
    throw InputError(fmt::format("{}: its parameters have no pixel_size.{}: it is no result of uiPSF, or damaged",
                                 path.string(), axis));
}

/// Coefficients of shape ([channels,] 64, z, y, x).
CellPolynomials read_uipsf_cells(hid_t dataset, bool is_swapped, const fs::path& path, const ReadLensOptions& options) {
    std::vector<hsize_t> shape = hdf5::shape_of(dataset);
    std::size_t channels = 1;
    if (shape.size() == 5) channels = std::size_t(shape[0]), shape.erase(shape.begin());
    if (shape.size() != 4 || shape[0] != 64)
        throw InputError(
            fmt::format("{}: locres/coeff has the shape ({}), not (64, z, y, x) or (channels, 64, z, y, "
                        "x); PSFs that vary over the field and 4Pi ones are not read",
                        path.string(), fmt::join(hdf5::shape_of(dataset), ", ")));
    const Index3 cells{std::size_t(shape[1]), std::size_t(shape[2]), std::size_t(shape[3])};
    check_cells(path, cells);
    const std::size_t all = 64 * cells[0] * cells[1] * cells[2];
    const std::size_t channel = choose_channel(path, channels, options);
    if (channels > max_polynomial_values / all)
        throw InputError(fmt::format("{}: its {} channels have more than {} coefficients, the limit", path.string(),
                                     channels, max_polynomial_values));
    // The fastest dimension is MATLAB's first.
    CellPolynomials out =
        matlab_polynomials({shape[3], shape[2], shape[1]}, hdf5::read_floats(dataset, uipsf_values, path));
    out.first = channel * all;
    if (is_swapped) return out;
    std::swap(out.cells[1], out.cells[2]);
    std::swap(out.cell_strides[1], out.cell_strides[2]);
    std::swap(out.power_strides[1], out.power_strides[2]);
    return out;
}

}  // namespace

bool is_uipsf_lens(hid_t file) {
    H5O_info_t info;
    if (!hdf5::has(file, uipsf_group) || H5Oget_info_by_name(file, uipsf_group, &info, H5P_DEFAULT) < 0 ||
        info.type != H5O_TYPE_GROUP)
        return false;
    const hdf5::Handle group(H5Gopen2(file, uipsf_group, H5P_DEFAULT));
    return group.valid() && hdf5::has(group, uipsf_values);
}

Lens read_uipsf_lens(hid_t file, const fs::path& path, const ReadLensOptions& options) {
    const UiPsfJson parameters = parse_python_json(hdf5::read_string_attribute(file, uipsf_parameters).value_or(""));
    LensGrid grid;
    grid.pixel_size_nm = uipsf_size_nm(parameters, "x", path);
    const double step_nm = uipsf_size_nm(parameters, "z", path);
    const auto kind = parameters.find("PSFtype"), swapped = parameters.find("swapxy");
    const bool is_in_situ =
        kind != parameters.end() && kind->is_string() && kind->get<std::string>().find("insitu") != std::string::npos;
    const bool is_swapped = swapped != parameters.end() && swapped->is_boolean() && swapped->get<bool>();
    const hdf5::Handle group(H5Gopen2(file, uipsf_group, H5P_DEFAULT));
    const hdf5::Handle dataset = hdf5::open_dataset(group, uipsf_values, path);
    const CellPolynomials polynomials = read_uipsf_cells(dataset, is_swapped, path, options);
    // Beads: the order of the stack. In situ: heights above the coverslip.
    grid.z_step_nm = is_in_situ ? step_nm : -step_nm;
    grid.first_z_nm = -0.5 * double(polynomials.cells[0]) * grid.z_step_nm;
    return make_lens(path, polynomials, grid, "uiPSF result " + path.filename().string());
}

}  // namespace glint
