// Tells an astigmatic lens along the pixels from other lenses (docs/theory.md, section 9).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/astigmatic_fit.hpp"
#include "analysis/usable_range.hpp"

namespace glint {

/// Medians over the beads of each slice.
struct ShapesOverZ {
    WidthsOverZ widths;
    std::vector<std::size_t> slice;                   ///< its number in the stack
    std::vector<double> along_axes, along_diagonals;  ///< eq. 9.3
    std::vector<double> peak;                         ///< photons over the product of the widths
};

/// The slices in a row around the one with the highest peak whose peaks are at least a quarter of it. Needs a slice.
InFocus slices_in_focus(const ShapesOverZ& shapes);

/// Throws InputError if the shapes turn with z and are never round, as two lobes do.
void refuse_double_helix(const ShapesOverZ& shapes, const std::string& name);

/// Throws InputError, which names the lens, for a double helix, no astigmatism, axes tilted against the pixels (with the
/// angle), and widths that do not cross.
void refuse_other_lenses(const ShapesOverZ& shapes, const std::string& name);

}  // namespace glint
