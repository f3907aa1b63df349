// What is stated of a drift: its values, errors, jumps and beads, and whether two halves of the field agree.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/drift/improve.hpp"

namespace glint::drift {

/// Along the sample's axes. Returns why it is not to be trusted; empty: it is.
std::string state(const MotionEstimate& e, Sample& s, Drift& to);

/// Warns if segments may lie elsewhere, or parts of the field move apart.
void warn_of_doubts(const Drift& to, const MotionEstimate& e, const Sample& s, const Warn& warn);

/// Instead: no drift, and why.
void refuse(Drift& to, const Sample& s, const std::string& why);

/// The sample's beads, and all from its axes to x and y and from its frames to the movie's.
void finish(Drift& to, const Sample& s, double pixel_size_nm);

}  // namespace glint::drift
