// The curves and resolutions of all halves that groups can be combined to.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/fourier.hpp"
#include "glint/resolution.hpp"

namespace glint {

/// What halves have in common by chance alone or by the shape of the field, by ring.
struct RingsByChance {
    std::vector<double> pixels;   ///< Fourier pixels
    std::vector<double> outline;  ///< expected sum of F1 F2* of points at random
};

/// Fills the curves, the resolution, that of points at random and the number of splits. `ring_per_nm`: the width of a
/// ring.
void put_curves(Frc& to, const RingSums& sums, const RingsByChance& chance, double ring_per_nm);

}  // namespace glint
