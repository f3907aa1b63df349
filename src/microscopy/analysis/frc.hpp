// Fourier ring correlation: the curves of all halves of the groups. Also computes the correlation of random points due
// to the outline of the field and its tiles (docs/explanation/theory.md, eq. 14.6).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/fourier.hpp"
#include "analysis/frame_neighbors.hpp"
#include "glint/resolution.hpp"

namespace glint {

/// Returns the Fourier ring correlation. If the precision is unknown (NaN), `options` must contain the lengths that
/// depend on it. Otherwise, or if stopped, the result has no curve.
Frc frc_of(const FrameNeighbors& neighbors, double pixel_size_nm, double precision_nm, const FrcOptions& options);

/// The correlation of halves by chance or from the shape of the field, by ring.
struct RingsByChance {
    std::vector<double> pixels;   ///< Fourier pixels
    std::vector<double> outline;  ///< expected sum of F1 F2* for random points
};

/// Fills in the curves, the resolution, the resolution of random points and the number of splits. `ring_per_nm` is the
/// width of a ring.
void put_curves(Frc& to, const RingSums& sums, const RingsByChance& chance, double ring_per_nm);

/// The rectangle that contains all points, in grid pixels from the first tile's corner, and the occupied tiles.
struct FieldOutline {
    struct Tile {
        int column = 0, row = 0;
        std::size_t points = 0;
    };
    FourierGrid grid{};
    double left = 0, right = 0, top = 0, bottom = 0;
    std::vector<Tile> tiles;
};

/// Returns the expected sum of F1 F2* over each ring for two halves of random points. Each tile has the number of
/// points in `outline`.
std::vector<double> power_of_outline(const FieldOutline& outline);

}  // namespace glint
