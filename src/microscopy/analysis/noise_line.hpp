// The line of noise variance over mean count, and what it says about the camera (docs/theory.md, section 11).
// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/noise_samples.hpp"
#include "glint/inspect.hpp"

namespace glint {

/// Estimates gain and offset, or one of them where the other is known. Samples with a count of `saturation_adu` or more (0: none)
/// are left out. `whole_counts`: rounding to whole numbers is part of the noise. `samples` is used up.
MovieNoise noise_of(NoiseSamples samples, double saturation_adu, bool whole_counts, const InspectOptions& options);

}  // namespace glint
