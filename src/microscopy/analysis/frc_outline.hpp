// What halves of points at random have in common: the outline of the field and of its tiles (docs/theory.md, eq. 14.6).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/fourier.hpp"

namespace glint {

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
