// Takes a drift out of positions, or puts it back.
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

void shift_all(Localizations& locs, const Drift& drift, double sign) {
    if (drift.refused || locs.size() == 0) return;
    if (!(locs.pixel_size_nm > 0))
        throw InputError("drift: the table does not say how large a camera pixel is; give the pixel size");
    const std::uint32_t last = *std::max_element(locs.frame.begin(), locs.frame.end());
    if (std::int64_t(last) >= drift.frames())
        throw InputError(
            fmt::format("drift: the table has rows in frame {}, the drift ends after {} frames: they are "
                        "not of the same movie",
                        last, drift.frames()));
    shift(locs.x_px, locs.frame, drift.x, sign / locs.pixel_size_nm);
    shift(locs.y_px, locs.frame, drift.y, sign / locs.pixel_size_nm);
    shift(locs.z_nm, locs.frame, drift.z, sign);
}

}  // namespace

void apply_drift(Localizations& localizations, const Drift& drift) { shift_all(localizations, drift, -1); }

void undo_drift(Localizations& localizations, const Drift& drift) { shift_all(localizations, drift, 1); }

}  // namespace glint
