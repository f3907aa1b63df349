// Camera faults that a few frames reveal: a fixed pattern, saturation, values below the offset.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

struct FrameChecks {
    int frames = 0;  ///< number of frames read; 0: all else is unknown
    /// Standard deviations of a pixel, e-: of the pattern, which is the same in all frames, and of the remaining noise.
    /// The pattern is 0 if it may be chance.
    double pattern_e = 0, noise_e = 0;
    double noise_ratio = 0;  ///< measured noise over the noise that the camera's values predict, per pixel; 0: unknown
    double saturation_adu = 0;  ///< found by the survey or in these frames; 0: none
    double saturated_share = 0;
    /// The common count of all pixels in all frames; NaN if they differ.
    double only_adu = std::numeric_limits<double>::quiet_NaN();
    /// The largest whole count, if float32 cannot represent it exactly. 0 if all counts are exact. 0 also if values
    /// have fractions, since they are not counts then.
    double rounded_adu = 0;
    double below_offset_share = 0;  ///< share of pixels whose light is negative beyond the read noise

    /// Returns true if a large part of the pixels is saturated, or if all have the same count.
    bool is_saturated() const;
    /// Returns the pattern's part of the variance.
    double pattern_part() const;
    /// Returns true if the pattern is as large as the noise. Other measures of noise, spots and neighbours are then
    /// unreliable.
    bool is_patterned() const { return pattern_part() > 0.5; }
};

/// Reads up to 4 of the `frames` localized frames, spread over the movie; from a pipe, reads the first ones. Skips
/// unreadable frames.
FrameChecks check_frames(Movie& movie, const LocalizeJob& job, std::int64_t frames);

/// Returns the share of spot-like pixels that also look like spots in the next of these frames, beyond chance.
/// Molecules blink; edges and texture do not. 0 if static light is subtracted.
double static_spots(Movie& movie, const LocalizeJob& job, std::int64_t frames);

/// Returns warnings for the user, with the measured value and the remedy; empty if there is nothing to report.
std::string pattern_warning(const FrameChecks& checks);
std::string saturation_warning(const FrameChecks& checks);
std::string offset_warning(const FrameChecks& checks);
std::string rounded_counts_warning(const FrameChecks& checks);
/// `frames`: number of frames of the movie.
std::string static_spots_warning(double share, std::int64_t frames);

}  // namespace glint
