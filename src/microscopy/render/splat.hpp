// Sums dots into float images, with identical results for any number of threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "glint/table_pieces.hpp"
#include "render/canvas.hpp"

namespace glint {

/// Dots in pictures: each a Gaussian integrated over pixels (docs/theory.md, eq. 8.1).
struct Splats {
    std::vector<float> density;  ///< the sum of all dots
    std::vector<float> hue;      ///< the sum of all, each multiplied by its hue; empty: not asked for
};

/// The hue of a row of a table, NaN to leave it out.
using HueOf = std::function<float(const Localizations& table, std::size_t row)>;

/// The dots of a table, by all threads, in memory that does not grow with its rows. `hue_of`: empty for the density alone.
Splats splat(const Canvas& canvas, TablePieces& table, const HueOf& hue_of = {});

}  // namespace glint
