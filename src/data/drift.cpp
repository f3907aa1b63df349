// Takes a drift out of positions, or puts it back, and tells of it.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "glint/drift.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

void shift(std::vector<float>& positions, const std::vector<std::uint32_t>& frames, const AxisDrift& drift, double by) {
    if (positions.empty() || drift.nm.empty()) return;
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = float(positions[i] + by * drift.nm[frames[i]]);
}

void require_all_frames(const Localizations& locs, const Drift& drift, const std::string& name) {
    if (locs.size() == 0) return;
    const std::uint32_t last = *std::max_element(locs.frame.begin(), locs.frame.end());
    if (std::int64_t(last) >= drift.frames())
        throw InputError(fmt::format(
            "{}: the drift ends after {} frames, and the table has rows in frame {} (the first is 0): they are not "
            "of the same movie. Give the drift of this movie, or estimate it",
            name, drift.frames(), last));
}

void shift_all(Localizations& locs, const Drift& drift, double sign) {
    if (drift.refused || locs.size() == 0) return;
    if (!(locs.pixel_size_nm > 0))
        throw InputError("drift: the table does not say how large a camera pixel is; give the pixel size");
    require_all_frames(locs, drift, "drift");
    shift(locs.x_px, locs.frame, drift.x, sign / locs.pixel_size_nm);
    shift(locs.y_px, locs.frame, drift.y, sign / locs.pixel_size_nm);
    shift(locs.z_nm, locs.frame, drift.z, sign);
}

}  // namespace

void apply_drift(Localizations& localizations, const Drift& drift) { shift_all(localizations, drift, -1); }

void undo_drift(Localizations& localizations, const Drift& drift) { shift_all(localizations, drift, 1); }

void check_drift(const Localizations& locs, const Drift& drift, const std::string& name, const Warn& warn) {
    require_all_frames(locs, drift, name);
    if (!warn) return;
    if (locs.frames > 0 && drift.frames() != locs.frames)
        warn(
            fmt::format("{}: the drift is of {} frames, the table's movie has {}: frame n is taken to be frame n of "
                        "both. If the drift is of "
                        "another movie, give that of this one",
                        name, drift.frames(), locs.frames));
    if (!drift.z.nm.empty() && locs.z_nm.empty())
        warn(fmt::format("{}: the drift has x y z, the table has no z: x and y are used alone", name));
    if (drift.z.nm.empty() && !locs.z_nm.empty())
        warn(
            fmt::format("{}: the drift has x and y alone, the table has z, too, which stays as it is. A drift of three "
                        "numbers x y z "
                        "changes z, too",
                        name));
}

std::string drift_history(const Drift& drift, bool put_back) {
    if (drift.refused) return fmt::format("Drift: not corrected\nReason: \"{}\"\n", drift.why);
    if (put_back) return "Drift: put back\n";
    std::string text = "Drift: taken out\n";
    if (drift.x.error_nm.empty()) return text;
    text += fmt::format("Blinks: {}\nBeads: {}\nJumps: {}\n", drift.blinks, drift.used_beads(), drift.jumps.size());
    const char* names[] = {"x", "y", "z"};
    for (std::size_t a = 0; a < (drift.z.nm.empty() ? 2u : 3u); ++a)
        text += fmt::format("Drift error {} (nm, mean of 100 frames): {:.3f}\n", names[a], drift.error_100_nm[a]);
    return text;
}

}  // namespace glint
