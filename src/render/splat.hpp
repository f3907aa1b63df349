// Sums dots into a float image, with identical results for any number of threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "render/canvas.hpp"

namespace glint {

/// The sum of all dots, each a Gaussian integrated over pixels, multiplied by its weight (docs/theory.md, eq. 8.1).
/// `weights`: one per localization, NaN to exclude it; empty: all 1.
std::vector<float> splat(const Canvas& canvas, std::span<const float> weights);

}  // namespace glint
