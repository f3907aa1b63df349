// Faults of a camera that a few frames show: a fixed pattern, saturation, values below the offset.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

struct FrameChecks {
    int frames = 0;  ///< that were read; 0: nothing is known
    /// Standard deviations of a pixel, e-: of what is the same in all frames beside its neighbours' light, and of the
    /// rest. No pattern if there is none beyond chance.
    double pattern_e = 0, noise_e = 0;
    double noise_ratio = 0;     ///< both over what the camera's values say, pixel by pixel; 0: not known
    double saturation_adu = 0;  ///< of the survey, or of these frames; 0: none is seen
    double saturated_share = 0;
    /// The count that all pixels of all frames have; NaN if they differ.
    double only_adu = std::numeric_limits<double>::quiet_NaN();
    /// The largest whole count, if it is beyond what float32 holds exactly; 0: none is, or there are fractions, which
    /// are no counts.
    double rounded_adu = 0;
    double below_offset_share = 0;  ///< pixels with less light than none, beyond the read noise

    /// Whether a large part of the pixels is saturated, or all have one count.
    bool is_saturated() const;
    /// The part of the variance that is the pattern's.
    double pattern_part() const;
    /// Whether the pattern is as great as the noise: then other measures of noise, spots and neighbours are of it.
    bool is_patterned() const { return pattern_part() > 0.5; }
};

/// Reads up to 4 of the movie's `frames` that were localized, spread over them; of a pipe its first ones. Unreadable
/// frames are skipped.
FrameChecks check_frames(Movie& movie, const LocalizeJob& job, std::int64_t frames);

/// The share of spot-like pixels that look like spots in the next of these frames too, beyond chance: molecules blink,
/// edges and texture do not. 0 if static light is taken out.
double static_spots(Movie& movie, const LocalizeJob& job, std::int64_t frames);

/// Warnings for the user, with the number and the remedy; empty if there is nothing to report.
std::string pattern_warning(const FrameChecks& checks);
std::string saturation_warning(const FrameChecks& checks);
std::string offset_warning(const FrameChecks& checks);
std::string rounded_counts_warning(const FrameChecks& checks);
/// `frames`: of the movie.
std::string static_spots_warning(double share, std::int64_t frames);

}  // namespace glint
