// Dots summed into a float image, the same bytes for any number of threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "render/canvas.hpp"

namespace glint {

/// The sum of all dots, each a Gaussian integrated over pixels with an area of its weight (docs/theory.md, equation
/// 8.1). `weights`: one a localization, NaN to leave it out; empty: all 1.
std::vector<float> splat(const Canvas& canvas, std::span<const float> weights);

}  // namespace glint
