// The share of small p values among the brighter half of lone spots.
// SPDX-License-Identifier: MIT
#include "run/row_checks.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <numeric>

namespace glint {
namespace {

constexpr float small_p = 0.05F;
constexpr std::int64_t enough_lone_rows = 12;
/// Rows of pairs that are too close to separate also have small p values, so the limit is above 0.05.
constexpr double allowed_share = 0.15, binomial_errors = 4;
/// Lost light is reported from this share on.
constexpr double min_lost = 0.03;

}  // namespace

void SmallPValues::add(const Localizations& rows) {
    if (rows.p_value.empty()) return;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const bool is_lone = rows.emitters.empty() || rows.emitters[k] <= 1;
        if (!is_lone || (!rows.status.empty() && FitStatus(rows.status[k]) != FitStatus::converged)) continue;
        const std::size_t bin = photon_bin(rows.photons[k]);
        ++lone_[bin], small_[bin] += rows.p_value[k] < small_p;
    }
}

std::string SmallPValues::warning(const LoneSpots& lone, bool with_z) const {
    const std::int64_t all = std::accumulate(lone_.begin(), lone_.end(), std::int64_t(0));
    std::int64_t bright = 0, small = 0;
    for (std::size_t bin = lone_.size(); bin-- > 0 && 2 * bright < all;) bright += lone_[bin], small += small_[bin];
    const double share = bright > 0 ? double(small) / double(bright) : 0;
    const bool has_lost = lone.lost_light > min_lost && lone.lost_light > binomial_errors * lone.lost_light_error;
    if (bright < enough_lone_rows ||
        share < allowed_share + binomial_errors * std::sqrt(small_p * (1 - small_p) / double(bright))) {
        if (!has_lost) return "";
        // With high background, p values do not reveal tails that are wider than the model's.
        return fmt::format(
            "photons are too few by about {:.0f} % ({:.0f} to {:.0f} %), whatever their stated error: lone spots have "
            "light beyond the model's, as lenses with aberrations and fixed dipoles do. Positions hold{}; compare "
            "photons "
            "within this movie only",
            100 * lone.lost_light, 100 * (lone.lost_light - 2 * lone.lost_light_error),
            100 * (lone.lost_light + 2 * lone.lost_light_error),
            with_z ? ", but z may be wrong by more than its stated error" : "");
    }
    const std::string photons =
        has_lost ? fmt::format("photons are too few by about {:.0f} % and more, whatever their stated error",
                               100 * lone.lost_light)
                 : std::string("photons may be too few, by more than their stated error");
    return fmt::format(
        "{:.0f} % of the {} brighter lone localizations have a p value below 0.05, where 5 % are expected: their spots "
        "are not of the model's shape (aberrations, depth, movement within an exposure, structured background, or "
        "several molecules). Do not filter by p_value, which would leave out good localizations; {}{}",
        100 * share, bright, photons,
        with_z ? ". z may be wrong by more than its stated error, too: calibrate with beads in the sample's medium, "
                 "recorded with the same lens and camera, or correct a measured PSF for the sample by `glint calibrate "
                 "psf-in-situ`"
               : "");
}

}  // namespace glint
