// Tables of molecules that blink on a sample that drifts and jumps, for tests of the drift.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "glint/localizations.hpp"

namespace glint::test {

inline constexpr int movie_frames = 4000;
inline constexpr double pixel_nm = 100, precision_nm = 9;

inline double true_x(int f) { return 60 * std::sin(f / 900.0) + (f >= 2500 ? 40 : 0); }
inline double true_y(int f) { return 0.02 * f; }

/// Returns molecules that blink repeatedly, four frames each time; 12 per structure of 60 x 40 nm.
inline Localizations blinking(unsigned seed, int blinks, double field_nm = 20000, int structures = 100) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<double> cx, cy;
    for (int s = 0; s < structures; ++s)
        cx.push_back(uniform(random) * field_nm), cy.push_back(uniform(random) * field_nm);
    Localizations locs;
    locs.pixel_size_nm = pixel_nm;
    locs.frames = movie_frames;
    for (int b = 0; b < blinks; ++b) {
        const auto s = std::size_t(uniform(random) * structures);
        const double x = cx[s] + 20 * int(uniform(random) * 4), y = cy[s] + 20 * int(uniform(random) * 3);
        const int begin = int(uniform(random) * (movie_frames - 4));
        for (int f = begin; f < begin + 4; ++f) {
            locs.frame.push_back(std::uint32_t(f));
            locs.x_px.push_back(float((x + true_x(f) + precision_nm * normal(random)) / pixel_nm));
            locs.y_px.push_back(float((y + true_y(f) + precision_nm * normal(random)) / pixel_nm));
            locs.lpx_px.push_back(float(precision_nm / pixel_nm));
            locs.lpy_px.push_back(float(precision_nm / pixel_nm));
        }
    }
    return locs;
}

}  // namespace glint::test
