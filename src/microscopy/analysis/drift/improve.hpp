// Refines a rough drift in several passes. Each pass resolves finer details than the one before.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/drift/motion.hpp"
#include "analysis/drift/sample.hpp"
#include "analysis/drift/smoother.hpp"

namespace glint::drift {

struct MotionEstimate {
    std::array<SeenByHalves, 3> seen;
    std::array<Motion, 3> motion;      ///< of the highest likelihood
    std::array<Support, 3> supported;  ///< the motion that the data support; it is applied
    std::array<Smooth, 3> smooth;
    std::vector<char> jumps;
    /// The field cut along x and along y: the axis on which the two sides differ most beyond their errors.
    std::array<SidesApart, 2> sides;
};

struct Turn {
    double finest_nm;  ///< smaller details are blurred away
    std::size_t max_blinks;
    bool last = false;
};

/// Runs one pass: subtracts the drift so far, and estimates it again. Returns why that is impossible; empty on success.
std::string improve(Sample& s, MotionEstimate& e, const Turn& turn, bool molecules_tell);

}  // namespace glint::drift
