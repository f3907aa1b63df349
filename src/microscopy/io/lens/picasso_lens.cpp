// Picasso's spline calibrations: HDF5 with a dataset of 64 coefficients a cell, and JSON.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "glint/error.hpp"
#include "glint/version.hpp"
#include "io/files/atomic_file.hpp"
#include "io/hdf5/writing.hpp"
#include "io/lens/lens_formats.hpp"
#include "io/lens/python_json.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using FileJson = nlohmann::json;

constexpr const char *picasso_values = "coefficients", *picasso_metadata = "metadata";

double picasso_number(const FileJson& metadata, const char* key, std::optional<double> default_value,
                      const fs::path& path) {
    const auto found = metadata.find(key);
    if (found != metadata.end() && found->is_number()) return found->get<double>();
    if (found == metadata.end() && default_value) return *default_value;
    throw InputError(fmt::format("{}: its metadata have no number {}: calibrate again by Picasso", path.string(), key));
}

/// Coefficients of shape (64, x, y, z[, channels]), whose bytes without channels are those of (z, y, x, power of z, of
/// y, of x).
CellPolynomials read_picasso_cells(hid_t file, const fs::path& path, const ReadLensOptions& options) {
    const hdf5::Handle dataset = hdf5::open_dataset(file, picasso_values, path);
    const std::vector<hsize_t> shape = hdf5::shape_of(dataset);
    if ((shape.size() != 4 && shape.size() != 5) || shape[0] != 64)
        throw InputError(
            fmt::format("{}: its coefficients have the shape ({}), not (64, x, y, z) or (64, x, y, z, "
                        "channels): they are no 3D spline of Picasso",
                        path.string(), fmt::join(shape, ", ")));
    CellPolynomials out;
    out.cells = {std::size_t(shape[3]), std::size_t(shape[2]), std::size_t(shape[1])};
    check_cells(path, out.cells);
    const std::size_t channels = shape.size() == 5 ? std::size_t(shape[4]) : 1;
    out.first = choose_channel(path, channels, options);
    if (channels > max_polynomial_values / (64 * out.cells[0] * out.cells[1] * out.cells[2]))
        throw InputError(fmt::format("{}: its {} channels have more than {} coefficients, the limit", path.string(),
                                     channels, max_polynomial_values));
    out.power_strides = {16 * channels, 4 * channels, channels};
    out.cell_strides = {64 * channels * out.cells[1] * out.cells[2], 64 * channels * out.cells[2], 64 * channels};
    out.values = hdf5::read_floats(dataset, picasso_values, path);
    return out;
}

/// The point along z with the highest peak.
std::size_t find_sharpest(const CellPolynomials& polynomials) {
    std::size_t sharpest = 0;
    float highest = 0;
    for (std::size_t k = 0; k < polynomials.cells[0]; ++k)
        for (std::size_t j = 0; j < polynomials.cells[1]; ++j)
            for (std::size_t i = 0; i < polynomials.cells[2]; ++i)
                if (const float value = polynomials.coefficient({k, j, i}, {}); value > highest)
                    highest = value, sharpest = k;
    return sharpest;
}

}  // namespace

bool is_picasso_lens(hid_t file) { return hdf5::has(file, picasso_values) && H5Aexists(file, picasso_metadata) > 0; }

Lens read_picasso_lens(hid_t file, const fs::path& path, const ReadLensOptions& options) {
    const FileJson metadata = parse_python_json(hdf5::read_string_attribute(file, picasso_metadata).value_or(""));
    if (!metadata.is_object())
        throw InputError(
            fmt::format("{}: its metadata are no JSON: it is no calibration of Picasso, or damaged", path.string()));
    const auto model = metadata.find("model");
    const std::string name = model != metadata.end() && model->is_string() ? model->get<std::string>() : "";
    if (!name.starts_with("spline-3d"))
        throw InputError(
            fmt::format("{}: its model is \"{}\": glint reads spline-3d, since fits with a measured PSF "
                        "find z; use a Gaussian model for a movie in 2D",
                        path.string(), name.substr(0, 40)));
    if (const double oversampling = picasso_number(metadata, "oversampling", 1, path); oversampling != 1)
        throw InputError(fmt::format("{}: its oversampling is {}: only 1 is read; calibrate again without",
                                     path.string(), oversampling));
    const CellPolynomials polynomials = read_picasso_cells(file, path, options);
    const double step_nm = picasso_number(metadata, "z_step_nm", {}, path);
    const double center = picasso_number(metadata, "z_center", {}, path);
    const double start = picasso_number(metadata, "z_init", center, path);
    const double magnification = picasso_number(metadata, "magnification_factor", 1, path);
    LensGrid grid;
    grid.pixel_size_nm = picasso_number(metadata, "pixelsize", {}, path);
    // Picasso's z of point k.
    grid.first_z_nm = start * step_nm * magnification + (center - start) * step_nm;
    grid.z_step_nm = -step_nm * magnification;
    return make_lens(path, polynomials, grid, "Picasso spline calibration " + path.filename().string());
}

void write_picasso_lens(const fs::path& path, const Lens& lens, IfExists if_exists) {
    require_pixel_samples(path, lens);
    const PsfTable& table = *lens.table;
    const PsfTable::Shape& shape = table.shape();
    if (shape[1] != shape[2])
        throw OptionError(
            fmt::format("{}: Picasso's PSFs are square, this one has {} x {} pixels: measure it with a "
                        "square window",
                        path.string(), shape[2] - 2, shape[1] - 2));
    CellPolynomials polynomials = to_reversed_polynomials(path, table);
    const std::size_t sharpest = find_sharpest(polynomials);
    float peak = 0;
    for (std::size_t k = 0; k < polynomials.values.size(); k += 64) peak = std::max(peak, polynomials.values[k]);
    if (!(peak > 0)) throw OptionError(fmt::format("{}: the PSF has no light", path.string()));
    for (float& value : polynomials.values) value /= peak;
    const PsfTable::Scale& scale = table.scale();
    const double step_nm = (scale.z_max_nm - scale.z_min_nm) / double(polynomials.cells[0]);
    const int points = shape[2] - 2;
    const FileJson metadata{{"model", "spline-3d"},
                            {"n_data", {points, points, shape[0] - 2}},
                            {"n_intervals", {points - 1, points - 1, shape[0] - 3}},
                            {"oversampling", 1.0},
                            {"lateral_centered", true},
                            {"z_center", scale.z_max_nm / step_nm},
                            {"z_init", double(sharpest)},
                            {"z_step_nm", step_nm},
                            {"magnification_factor", 1.0},
                            {"correct_z_bias", false},
                            {"effective_sigma", table.filter_width_px()},
                            {"photon_scale", 1 / double(peak)},
                            {"box", points},
                            {"pixelsize", scale.pixel_size_nm},
                            {"n_channels", 1},
                            {"Step size in nm", step_nm},
                            {"Generated by", fmt::format("glint {}: {}", version(), lens.origin)}};
    AtomicFile output(path, if_exists);
    hdf5::Handle file = hdf5::create_file(output);
    const hsize_t extent[] = {64, polynomials.cells[2], polynomials.cells[1], polynomials.cells[0]};
    hdf5::write_values(file, picasso_values, H5T_NATIVE_FLOAT, extent, polynomials.values.data(), path);
    hdf5::write_attribute(file, picasso_metadata, metadata.dump(-1, ' ', false, FileJson::error_handler_t::replace),
                          path);
    if (!file.close()) throw_output_error(path, 0);
    output.commit();
}

}  // namespace glint
