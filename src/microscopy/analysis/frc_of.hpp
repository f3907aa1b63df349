// Fourier ring correlation of rows that are in order already, of a known precision.
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/frame_neighbors.hpp"
#include "glint/resolution.hpp"

namespace glint {

/// Without a precision (NaN) the options must give what follows from it; else, and where it was stopped, there is no curve.
Frc frc_of(const FrameNeighbors& neighbors, double pixel_size_nm, double precision_nm, const FrcOptions& options);

}  // namespace glint
