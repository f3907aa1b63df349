// Faults of a measured PSF that fits would not notice, but that make photons or z wrong.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/lens/lens_formats.hpp"
#include "psf/table_extent.hpp"

namespace glint {
namespace {

constexpr double max_lens_z_nm = 100000;
constexpr int max_lens_edge = 1000;  // of SplineXYZNB
// Measured PSFs of 35 px have 1.00 in their window, and up to 1.09 with the margin of their table. A cropped range of z
// may have lost its brightest plane: its light is then lower.
constexpr double min_lens_light = 0.5, max_lens_light = 1.5;
constexpr double max_negative_share = 0.2;  // measured PSFs have 0.01 to 0.03
constexpr double z_rounding = 1e-6;         // of the depth

/// Sums over the points of a plane.
struct PlaneLight {
    double positive = 0, negative = 0;
    double sum() const { return positive - negative; }
};

/// Returns the light of plane k of the inner ones of a cell: the spline's values at its points.
PlaneLight sum_plane(const PsfTable& table, std::span<const float> cell, int k) {
    const int depths = table.shape()[0], height = table.shape()[1], width = table.shape()[2];
    const auto row = std::size_t(width), plane = row * std::size_t(height);
    const float* at = cell.data() + std::size_t(k) * plane;
    const auto along_z = [&](std::size_t n) {
        return depths == 1 ? double(at[n])
                           : (double(*(at + n - plane)) + 4 * double(at[n]) + double(at[n + plane])) / 6;
    };
    std::vector<double> values(plane);
    for (std::size_t n = 0; n < plane; ++n) values[n] = along_z(n);
    PlaneLight light;
    for (std::size_t j = 1; j + 1 < std::size_t(height); ++j)
        for (std::size_t i = 1; i + 1 < row; ++i) {
            const double* middle = values.data() + j * row + i;
            const auto along_x = [](const double* line) { return line[-1] + 4 * line[0] + line[1]; };
            const double value = (along_x(middle - row) + 4 * along_x(middle) + along_x(middle + row)) / 36;
            (value < 0 ? light.negative : light.positive) += std::abs(value);
        }
    return light;
}

std::string find_scale_fault(const Lens& lens, bool is_own) {
    const PsfTable& table = *lens.table;
    const PsfTable::Scale& scale = table.scale();
    const PsfTable::Shape& shape = table.shape();
    if (scale.pixel_size_nm < smallest_pixel_nm || scale.pixel_size_nm > largest_pixel_nm)
        return fmt::format("its pixel size (pixel_size_nm) is {} nm, the limits are {:g} to {:g} nm",
                           scale.pixel_size_nm, smallest_pixel_nm, largest_pixel_nm);
    if (!(std::abs(scale.z_min_nm) <= max_lens_z_nm && std::abs(scale.z_max_nm) <= max_lens_z_nm))
        return fmt::format("its z range (z_min_nm, z_max_nm) is {} to {} nm, the limits are -{:g} to {:g} nm",
                           scale.z_min_nm, scale.z_max_nm, max_lens_z_nm, max_lens_z_nm);
    for (int axis = 0; axis < 3; ++axis)
        if (shape[std::size_t(axis)] > max_lens_edge)
            return fmt::format("its coefficients are {} x {} x {} (z, y, x), the limit is {} along each axis", shape[0],
                               shape[1], shape[2], max_lens_edge);
    if (is_own && shape[1] != shape[2])
        return fmt::format("its coefficients (/psf/coefficients) are {} x {} x {} (z, y, x), y and x must be equal",
                           shape[0], shape[1], shape[2]);
    if (shape[0] == 1) return "";
    const double rounding = z_rounding * (scale.z_max_nm - scale.z_min_nm);
    if (!(lens.usable_min_nm < lens.usable_max_nm && lens.usable_min_nm >= scale.z_min_nm - rounding &&
          lens.usable_max_nm <= scale.z_max_nm + rounding))
        return fmt::format(
            "its usable range (usable_min_nm, usable_max_nm) is {} to {} nm, which must ascend and lie within its z "
            "range, {} to {} nm",
            lens.usable_min_nm, lens.usable_max_nm, scale.z_min_nm, scale.z_max_nm);
    return "";
}

std::string find_light_fault_of_cell(const PsfTable& table, std::span<const float> cell) {
    const InnerPlanes inner = inner_planes(table.shape());
    const PsfTable::Scale& scale = table.scale();
    PlaneLight all;
    double brightest = 0, darkest = 0;
    int dark_plane = 0;
    for (int k = inner.first; k < inner.first + inner.count; ++k) {
        const PlaneLight light = sum_plane(table, cell, k);
        all.positive += light.positive, all.negative += light.negative;
        brightest = std::max(brightest, light.sum());
        if (k == inner.first || light.sum() < darkest) darkest = light.sum(), dark_plane = k;
    }
    const double samples = double(scale.samples_per_px) * scale.samples_per_px;
    if (!(brightest > 0)) return "its coefficients contain no light: their sum is 0 or less at each z";
    if (!(brightest / samples >= min_lens_light && brightest / samples <= max_lens_light))
        return fmt::format(
            "the light of its coefficients sums to {:.3g} at the brightest z, the limits are {:g} to {:g}: 1 is "
            "correct, photons would be wrong by this factor",
            brightest / samples, min_lens_light, max_lens_light);
    if (all.negative > max_negative_share * all.positive)
        return fmt::format(
            "{:.0f} % of the light of its coefficients is negative, the limit is {:.0f} %: noise or a background that "
            "was subtracted wrongly",
            100 * all.negative / all.positive, 100 * max_negative_share);
    if (!(darkest > 0))
        return fmt::format("at z = {:.0f} nm its coefficients sum to {:.2g}: each z must have light",
                           scale.z_min_nm + (dark_plane - 1) * (scale.z_max_nm - scale.z_min_nm) / (inner.count - 1),
                           darkest / samples);
    return "";
}

std::string find_light_fault(const PsfTable& table) {
    const PsfField& field = table.field();
    std::string fault;
    for (int k = 0; k < field.cells() && fault.empty(); ++k) {
        fault = find_light_fault_of_cell(table, table.cell(k));
        if (!fault.empty() && field.cells() > 1)
            fault = fmt::format("in the cell of row {} and column {} of the field, counted from 0, {}",
                                k / field.cells_x, k % field.cells_x, fault);
    }
    return fault;
}

}  // namespace

std::string find_lens_fault(const Lens& lens, bool is_own) {
    const std::string fault = find_scale_fault(lens, is_own);
    return fault.empty() ? find_light_fault(*lens.table) : fault;
}

void check_lens(const std::filesystem::path& path, const Lens& lens, bool is_own) {
    const std::string fault = find_lens_fault(lens, is_own);
    if (!fault.empty())
        throw InputError(fmt::format("{}: {}. The file is damaged or was edited: copy it again, or {}", path.string(),
                                     fault,
                                     is_own ? "measure the PSF again by `glint calibrate psf`"
                                            : "calibrate again from the beads by the program that wrote it"));
}

}  // namespace glint
