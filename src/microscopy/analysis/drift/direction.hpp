// The direction along which molecules tell least of a drift, as along parallel filaments, and whether they tell anything there.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "analysis/drift/blinks.hpp"

namespace glint::drift {

struct Direction {
    double angle = 0;            ///< of the axis that tells most, from x towards y
    double least_over_most = 1;  ///< information across it, as a part
};
Direction direction_of(const std::array<double, 3>& matrix_xy);

/// Axes that are turned by `angle`: positions along them in place of x and y.
Table turned(Table table, double angle);
void turn(FrameDrift& drift, double angle);

/// RMS difference along y, nm, between first estimates from two halves of the field; negative where one finds none. `stopped` as of coarse_drift().
double halves_differ_along_y(const Table& table, const std::function<void()>& stopped);

}  // namespace glint::drift
