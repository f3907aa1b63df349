// Transforms the window over the covered part of a tile, as a product of a transform along x and one along y.
// SPDX-License-Identifier: MIT
#include "analysis/frc.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

namespace glint {
namespace {

/// The part of a tile that the field covers along an axis, in pixels of the tile.
using Covered = std::pair<double, double>;

Covered covered(double from, double to, int tile, int edge) {
    const double start = double(tile) * edge;
    return {std::clamp(from - start, 0.0, double(edge)), std::clamp(to - start, 0.0, double(edge))};
}

/// Returns |mean of window(x) exp(-2 pi i k x / edge) over the covered part|^2 for k >= 0.
std::vector<double> power_along_axis(const Covered& part, const FourierGrid& grid) {
    const int samples = std::max(1, int(std::ceil(part.second - part.first)));
    std::vector<double> window, place, power;
    for (int i = 0; i < samples; ++i) {
        place.push_back(part.first + (part.second - part.first) * (i + 0.5) / samples);
        window.push_back(double(tile_window(float(place.back()), grid.edge)));
    }
    for (int k = 0; k < grid.rings(); ++k) {
        double real = 0, imaginary = 0;
        for (int i = 0; i < samples; ++i) {
            const double angle = 2 * std::numbers::pi * k * place[std::size_t(i)] / grid.edge;
            real += window[std::size_t(i)] * std::cos(angle), imaginary += window[std::size_t(i)] * std::sin(angle);
        }
        power.push_back((real * real + imaginary * imaginary) / (double(samples) * samples));
    }
    return power;
}

}  // namespace

std::vector<double> power_of_outline(const FieldOutline& outline) {
    const FourierGrid& grid = outline.grid;
    std::map<std::pair<Covered, Covered>, double> tiles;  // sum of (points / 2)^2 of tiles with the same covered part
    for (const auto& tile : outline.tiles)
        tiles[{covered(outline.left, outline.right, tile.column, grid.edge),
               covered(outline.top, outline.bottom, tile.row, grid.edge)}] +=
            0.25 * double(tile.points) * double(tile.points);
    std::vector<double> rings(std::size_t(grid.rings()), 0);
    const int last = grid.rings() - 1;
    for (const auto& [part, weight] : tiles) {
        const auto x = power_along_axis(part.first, grid), y = power_along_axis(part.second, grid);
        for (int kx = 0; kx <= last; ++kx)  // one half of the plane, as in ring_sizes
            for (int ky = kx > 0 ? -last : 1; ky <= last; ++ky)
                if (const int ring = ring_of(kx, ky); ring <= last)
                    rings[std::size_t(ring)] += weight * x[std::size_t(kx)] * y[std::size_t(std::abs(ky))];
    }
    return rings;
}

}  // namespace glint
