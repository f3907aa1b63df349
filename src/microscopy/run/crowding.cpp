// Crowded rows: those of the largest groups, and rows that are brighter than molecules fitted alone.
// SPDX-License-Identifier: MIT
#include "run/row_checks.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "pipeline/p_single.hpp"

namespace glint {
namespace {

/// Frames are crowded if at least this share of rows represents several molecules, or if errors are this many times the
/// stated errors.
constexpr double crowded_part = 0.08, crowded_pull = 2;
constexpr std::int64_t enough_rows = 20;
/// Rows of groups that are as many times brighter than all but the brightest of lone ones, by which one needs so many.
constexpr std::int64_t enough_alone = 100;
constexpr double brightest_part = 0.01;
constexpr float times_brighter = 3;

/// The squared error that a row is expected to have, over the stated one.
double squared_pull(const Localizations& rows, std::size_t k, double p_single) {
    if (p_single < probably_single) return 1;  // its stated precision already includes it
    const double stated = std::sqrt(double(rows.lpx_px[k]) * rows.lpy_px[k]);
    const double width = std::sqrt(double(rows.sx_px[k]) * rows.sy_px[k]);
    return 1 + several_variance(p_single, stated, width) / (stated * stated);
}

}  // namespace

void Crowding::add(const Localizations& rows) {
    const auto p_single = rows.extra.find(p_single_column);
    if (rows.emitters.empty() || p_single == rows.extra.end()) return;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        if (!rows.status.empty() && FitStatus(rows.status[k]) != FitStatus::converged) continue;
        const Row row{rows.frame[k], rows.x_px[k], rows.y_px[k], rows.photons[k]};
        const double p = p_single->second.values[k];
        ++rows_, several_ += 1 - p, variances_ += squared_pull(rows, k, p);
        if (rows.emitters[k] <= 1) {
            ++alone_, ++by_photons_alone_[photon_bin(row.photons)];
            continue;
        }
        ++by_photons_in_groups_[photon_bin(row.photons)];
        if (row.photons > brightest_in_group_.photons) brightest_in_group_ = row;
    }
}

double Crowding::pull() const { return std::sqrt(variances_ / double(rows_)); }

bool Crowding::is_crowded(double noise) const {
    return rows_ >= enough_rows && (several_ / double(rows_) > noise * crowded_part || pull() > noise * crowded_pull);
}

std::string Crowding::warning(double noise) const {
    const double several = several_ / double(rows_);
    if (is_crowded(noise))
        // Companions that are not found are Poisson distributed: with n of them on average, exp(-n) of the rows have
        // none.
        return fmt::format(
            "frames are crowded: about {:.0f} % of the {} localizations stand for two molecules or more that are too "
            "close "
            "to be separated (column p_single), about {:.0f} % of the molecules are missed, and errors are about "
            "{:.1f} "
            "times those stated (root mean square). Fewer active molecules per frame would help; "
            "`filter_where=p_single > 0.9` keeps the more certain ones",
            100 * several, rows_, 100 * (1 - 1 / (1 - std::log1p(-several))), pull());
    if (alone_ < enough_alone) return "";
    std::size_t bin = by_photons_alone_.size() - 1;
    for (std::int64_t brighter = 0; bin > 0; --bin)
        if (brighter += by_photons_alone_[bin]; double(brighter) > brightest_part * double(alone_)) break;
    const float limit = times_brighter * end_of_photon_bin(bin);
    std::int64_t bright = 0;
    for (std::size_t k = photon_bin(limit) + 1; k < by_photons_in_groups_.size(); ++k)
        bright += by_photons_in_groups_[k];
    if (bright == 0) return "";
    return fmt::format(
        "{} localizations of molecules that were fitted together have more than {:.0f} photons, {:.0f} times what "
        "nearly all have that were fitted alone: each may stand for several that are too close to be separated, "
        "or for a part of a bead. The brightest, of {:.0f} photons, is in frame {} at x {:.1f} px, y {:.1f} px",
        bright, limit, times_brighter, brightest_in_group_.photons, brightest_in_group_.frame, brightest_in_group_.x_px,
        brightest_in_group_.y_px);
}

}  // namespace glint
