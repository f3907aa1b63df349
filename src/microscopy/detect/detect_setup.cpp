// Option checks and the default threshold of detection.
// SPDX-License-Identifier: MIT
#include "detect/detect_setup.hpp"

#include <fmt/format.h>

#include "glint/error.hpp"

namespace glint {
namespace {

constexpr double min_width_px = 0.3, max_width_px = 8;
constexpr double min_threshold = 1, max_threshold = 1000;
constexpr double default_threshold = 5, default_em_threshold = 6;

}  // namespace

void check(const DetectOptions& options) {
    if (!(options.filter.width_px >= min_width_px && options.filter.width_px <= max_width_px))
        throw OptionError(
            fmt::format("spots of width sigma = {:.3g} px cannot be detected, {} to {} px can: check the "
                        "width (`sigma`) and the "
                        "pixel size (`pixel_size`)",
                        options.filter.width_px, min_width_px, max_width_px));
    if (options.threshold == 0) return;
    if (!(options.threshold >= min_threshold && options.threshold <= max_threshold))
        throw OptionError(
            fmt::format("a threshold of {:.3g} standard deviations is outside {} to {}: give "
                        "`threshold=5`, more for fewer false spots",
                        options.threshold, min_threshold, max_threshold));
}

float threshold_of(float excess_noise, const DetectOptions& options) {
    if (options.threshold > 0) return float(options.threshold);
    return float(excess_noise > 1 ? default_em_threshold : default_threshold);
}

}  // namespace glint
