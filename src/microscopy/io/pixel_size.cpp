// Square, or none.
// SPDX-License-Identifier: MIT
#include "io/pixel_size.hpp"

#include <fmt/format.h>

#include <cmath>

#include "glint/units.hpp"

namespace glint {

void set_pixel_size(double width_nm, double height_nm, MovieInfo& info) {
    const auto is_plausible = [](double nm) { return nm >= smallest_pixel_nm && nm <= largest_pixel_nm; };
    if (!is_plausible(width_nm) || !is_plausible(height_nm)) return;
    if (std::abs(width_nm - height_nm) <= 0.001 * width_nm)
        info.pixel_size_nm = width_nm;
    else
        info.warnings.push_back(
            fmt::format("{}: the metadata say pixels of {:.4g} by {:.4g} nm, which are not square: give `pixel_size`",
                        info.name, width_nm, height_nm));
}

}  // namespace glint
