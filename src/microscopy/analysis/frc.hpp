// Fourier ring correlation of rows in order: the curves of all halves that groups can be combined to, and what halves
// of points at random have in common, the outline of the field and of its tiles (docs/explanation/theory.md, eq. 14.6).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/fourier.hpp"
#include "analysis/frame_neighbors.hpp"
#include "glint/resolution.hpp"

namespace glint {

/// Without a precision (NaN) the options must give what follows from it; else, and where it was stopped, there is no curve.
Frc frc_of(const FrameNeighbors& neighbors, double pixel_size_nm, double precision_nm, const FrcOptions& options);

/// What halves have in common by chance alone or by the shape of the field, by ring.
struct RingsByChance {
    std::vector<double> pixels;   ///< Fourier pixels
    std::vector<double> outline;  ///< expected sum of F1 F2* of points at random
};

/// Fills the curves, the resolution, that of points at random and the number of splits. `ring_per_nm`: the width of a
/// ring.
void put_curves(Frc& to, const RingSums& sums, const RingsByChance& chance, double ring_per_nm);

/// The rectangle that holds all points, in pixels of the grid from the first tile's corner, and the tiles that have points.
struct FieldOutline {
    struct Tile {
        int column = 0, row = 0;
        std::size_t points = 0;
    };
    FourierGrid grid{};
    double left = 0, right = 0, top = 0, bottom = 0;
    std::vector<Tile> tiles;
};

/// The expected sum over each ring of F1 F2* between two halves of points that lie at random in the field, as many in each
/// tile as there are.
std::vector<double> power_of_outline(const FieldOutline& outline);

}  // namespace glint
