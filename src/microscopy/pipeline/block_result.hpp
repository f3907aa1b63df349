// The result of one block of frames: the unit of the journal.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "glint/localizations.hpp"

namespace glint {

/// Counts that add up over blocks. Each spot gives one molecule; a spot of a joint fit gives none or several. `spots +
/// added - merged` molecules were fitted. All of them become rows except the failed ones.
struct BlockCounts {
    std::int64_t spots = 0, added = 0, merged = 0, not_converged = 0, wandered = 0, duplicates = 0, at_bound = 0,
                 bad_pixels = 0;
    /// Spots with saturated pixels; rows with most of their light in saturated pixels; molecules that were only hits of
    /// single pixels.
    std::int64_t saturated = 0, mostly_saturated = 0, hits = 0;
    /// Frames with a border of zeros (zero_border.hpp), and the first of them.
    std::int64_t zero_border_frames = 0, first_zero_border = std::numeric_limits<std::int64_t>::max();

    void add(const BlockCounts& more) {
        spots += more.spots;
        added += more.added;
        merged += more.merged;
        not_converged += more.not_converged;
        wandered += more.wandered;
        duplicates += more.duplicates;
        at_bound += more.at_bound;
        bad_pixels += more.bad_pixels;
        saturated += more.saturated;
        mostly_saturated += more.mostly_saturated;
        hits += more.hits;
        zero_border_frames += more.zero_border_frames;
        first_zero_border = std::min(first_zero_border, more.first_zero_border);
    }
};

struct BlockResult {
    std::int64_t first_frame = 0;
    std::vector<float> noise_checks;  ///< one per frame (Detector::noise_check)
    BlockCounts counts;
    Localizations rows;

    std::int64_t frames() const { return std::int64_t(noise_checks.size()); }
    std::int64_t end_frame() const { return first_frame + frames(); }
};

}  // namespace glint
