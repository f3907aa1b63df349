// The PSFs of SMAP's *_3dcal.mat, whichever version of MATLAB's files it is (Li et al., Nat. Methods 15, 367 (2018)).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/lens/lens_formats.hpp"

namespace glint {

CellPolynomials matlab_polynomials(const std::array<std::uint64_t, 3>& shape, std::vector<float> values) {
    CellPolynomials out;
    const std::size_t height = shape[0], width = shape[1], depth = shape[2], all = height * width * depth;
    out.cells = {depth, height, width};
    out.cell_strides = {height * width, 1, height};
    out.power_strides = {16 * all, all, 4 * all};
    out.values = std::move(values);
    return out;
}

Lens make_smap_lens(const std::filesystem::path& path, CellPolynomials polynomials, const SmapLensFacts& facts,
                    const ReadLensOptions& options) {
    constexpr double nm_per_um = 1000;
    LensGrid grid;
    grid.pixel_size_nm = nm_per_um * facts.pixel_size_um;
    const auto is_plausible = [](double nm) { return nm >= smallest_pixel_nm && nm <= largest_pixel_nm; };
    if (!is_plausible(grid.pixel_size_nm)) grid.pixel_size_nm = options.pixel_size_nm;
    if (!is_plausible(grid.pixel_size_nm))
        throw OptionError(
            fmt::format("{}: the file does not state the size of a pixel in the sample: give it, as in "
                        "`pixel_size=100nm`",
                        path.string()));
    // SMAP's PSFs have an odd number of points. In others its fits, which have odd windows, place the molecule half a
    // pixel before the middle.
    for (const std::size_t axis : {1, 2})
        if (polynomials.cells[axis] % 2 > 0 && polynomials.cells[axis] > 1) --polynomials.cells[axis];
    grid.first_z_nm = facts.z0 * facts.z_step_nm, grid.z_step_nm = -facts.z_step_nm;
    grid.is_mirrored = facts.is_mirrored;
    return make_lens(path, polynomials, grid, "SMAP calibration " + path.filename().string());
}

}  // namespace glint
