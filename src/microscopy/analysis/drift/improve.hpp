// One turn after another, each with finer details, makes a rough drift a precise one.
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
    std::array<Support, 3> supported;  ///< what of it is applied
    std::array<Smooth, 3> smooth;
    std::vector<char> jumps;
    std::array<SidesApart, 2>
        sides;  ///< of the field cut along x and along y: the axis that differs most beyond its errors
};

struct Turn {
    double finest_nm;  ///< details below are blurred away
    std::size_t most_blinks;
    bool last = false;
};

/// One turn: the drift as known so far is taken out, and what is left is seen. Returns why nothing is; empty: it is.
std::string improve(Sample& s, MotionEstimate& e, const Turn& turn, bool molecules_tell);

}  // namespace glint::drift
