// Subtracts a drift from positions, or adds it again, and records that in the history.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

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

constexpr const char *drift_key = "Drift: ", *taken_out = "taken out", *was_put_back = "put back";

/// Returns how many more drifts were subtracted than added, by the table's history; nullopt if it records none.
std::optional<int> drifts_taken_out(const Localizations& locs) {
    std::optional<int> count;
    for (const std::string& step : locs.history) {
        std::istringstream lines(step);
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with(drift_key)) continue;
            const auto says = [&](const char* what) { return line.find(what) != std::string::npos; };  // quoted or not
            if (says(taken_out) || says(was_put_back)) count = count.value_or(0) + (says(taken_out) ? 1 : -1);
        }
    }
    return count;
}

void warn_of_twice(const Localizations& locs, const std::string& name, bool put_back, const Warn& warn) {
    const std::optional<int> before = drifts_taken_out(locs);
    if (put_back && before && *before <= 0)
        warn(fmt::format(
            "{}: by its history, the table has no drift taken out that was not put back already: this adds the drift "
            "to positions that have it. Is it the wrong table?",
            name));
    if (!put_back && before.value_or(0) > 0)
        warn(fmt::format(
            "{}: by its history, a drift was taken out of the table already, and this one is taken out as well: if "
            "it is the same, give the table from before",
            name));
}

}  // namespace

void apply_drift(Localizations& localizations, const Drift& drift) { shift_all(localizations, drift, -1); }

void undo_drift(Localizations& localizations, const Drift& drift) { shift_all(localizations, drift, 1); }

void check_drift(const Localizations& locs, const Drift& drift, const std::string& name, const Warn& warn,
                 bool put_back) {
    require_all_frames(locs, drift, name);
    if (!warn) return;
    warn_of_twice(locs, name, put_back, warn);
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
            fmt::format("{}: the drift has only x and y, and leaves the table's z unchanged. A drift of three numbers "
                        "x y z changes z, too",
                        name));
}

std::string drift_history(const Drift& drift, bool put_back) {
    if (drift.refused) return fmt::format("{}not corrected\nReason: \"{}\"\n", drift_key, drift.why);
    if (put_back) return fmt::format("{}{}\n", drift_key, was_put_back);
    std::string text = fmt::format("{}{}\n", drift_key, taken_out);
    if (drift.x.error_nm.empty()) return text;
    text += fmt::format("Blinks: {}\nBeads: {}\nJumps: {}\n", drift.blinks, drift.used_beads(), drift.jumps.size());
    const char* names[] = {"x", "y", "z"};
    for (std::size_t a = 0; a < (drift.z.nm.empty() ? 2u : 3u); ++a)
        text += fmt::format("Drift error {} (nm, mean of 100 frames): {:.3f}\n", names[a], drift.error_100_nm[a]);
    return text;
}

}  // namespace glint
