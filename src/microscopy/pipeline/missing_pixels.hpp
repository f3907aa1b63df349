// Fits of windows with missing pixels (NaN), as registered movies have at their borders.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "glint/fit.hpp"
#include "glint/rois.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// Fits the windows with some NaN pixels again, without these pixels. Their rows have had the status bad_input, because
/// the kernels of CPU and GPU reject NaN. Runs on the calling thread. `fits`: a row for each window. `saturated`:
/// nonzero if the window's missing pixels are saturated ones; may be empty.
void fit_with_missing(const LocalizeJob& job, Fitter& fitter, const Rois& rois, Fits& fits,
                      std::span<const std::uint32_t> saturated);

}  // namespace glint
