// Fits of windows with missing pixels (NaN), as movies that were registered have them at their borders.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "glint/fit.hpp"
#include "glint/rois.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// Fits the windows again whose pixels are partly NaN, for which their rows have the status bad_input, without those
/// pixels: alike for CPU and GPU, whose kernels take none of them. On the calling thread. `fits`: a row for each
/// window. `saturated`: where this is not 0, the missing pixels of a window are saturated ones; or empty.
void fit_with_missing(const LocalizeJob& job, Fitter& fitter, const Rois& rois, Fits& fits,
                      std::span<const std::uint32_t> saturated);

}  // namespace glint
