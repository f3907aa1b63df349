// The curves and resolutions of all halves that groups can be combined to.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/fourier.hpp"
#include "glint/resolution.hpp"

namespace glint {

/// Fills the curves, the resolution and the number of splits. `ring_per_nm`: the width of a ring.
void put_curves(Frc& to, const RingSums& sums, const std::vector<double>& ring_sizes, double ring_per_nm);

}  // namespace glint
