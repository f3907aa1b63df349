// Crowded rows: those of the largest groups, and those brighter than molecules are that were fitted alone.
// SPDX-License-Identifier: MIT
#include "run/crowding.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstddef>

#include "glint/localize.hpp"

namespace glint {
namespace {

/// A sign and its exponent, and three bits of the fraction. Photons are positive.
constexpr int bin_shift = 20;
std::size_t bin_of(float photons) { return photons > 0 ? std::bit_cast<std::uint32_t>(photons) >> bin_shift : 0; }
float end_of_bin(std::size_t bin) { return std::bit_cast<float>(std::uint32_t(bin + 1) << bin_shift); }

/// Where a twentieth of all rows is in groups that are larger than a block, a tenth of the molecules and more are missed where the
/// PSF's width is fixed (docs/theory.md, section 10).
constexpr double crowded_part = 0.05;
/// Rows of groups that are as many times brighter than all but the brightest of lone ones, by which one needs so many.
constexpr std::int64_t enough_alone = 100;
constexpr double brightest_part = 0.01;
constexpr float times_brighter = 3;

}  // namespace

void Crowding::add(const Localizations& rows) {
    if (rows.emitters.empty()) return;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        if (!rows.status.empty() && FitStatus(rows.status[k]) != FitStatus::converged) continue;
        const Row row{rows.frame[k], rows.x_px[k], rows.y_px[k], rows.photons[k], rows.emitters[k]};
        ++rows_;
        if (row.emitters <= 1) {
            ++alone_, ++by_photons_alone_[bin_of(row.photons)];
            continue;
        }
        ++by_photons_in_groups_[bin_of(row.photons)];
        if (row.emitters > most_emitters) ++in_large_groups_;
        if (row.photons > brightest_in_group_.photons) brightest_in_group_ = row;
        if (row.emitters > of_largest_group_.emitters) of_largest_group_ = row;
    }
}

std::string Crowding::warning() const {
    if (double(in_large_groups_) > crowded_part * double(rows_))
        return fmt::format(
            "{} of {} localizations are in groups of more than {} molecules whose spots overlap, the largest of {:.0f} "
            "in frame {}: in frames as crowded as that, many that are closer than a PSF's width are taken for one, "
            "and errors are greater than the stated precision. Fewer molecules that are on at once would help",
            in_large_groups_, rows_, most_emitters, of_largest_group_.emitters, of_largest_group_.frame);
    if (alone_ < enough_alone) return "";
    std::size_t bin = by_photons_alone_.size() - 1;
    for (std::int64_t brighter = 0; bin > 0; --bin)
        if (brighter += by_photons_alone_[bin]; double(brighter) > brightest_part * double(alone_)) break;
    const float limit = times_brighter * end_of_bin(bin);
    std::int64_t bright = 0;
    for (std::size_t k = bin_of(limit) + 1; k < by_photons_in_groups_.size(); ++k) bright += by_photons_in_groups_[k];
    if (bright == 0) return "";
    return fmt::format(
        "{} localizations of molecules that were fitted together have more than {:.0f} photons, {:.0f} times what "
        "nearly all have that were fitted alone: each may stand for several that are too close to be told apart, "
        "or for a part of a bead. The brightest, of {:.0f} photons, is in frame {} at x {:.1f} px, y {:.1f} px",
        bright, limit, times_brighter, brightest_in_group_.photons, brightest_in_group_.frame, brightest_in_group_.x_px,
        brightest_in_group_.y_px);
}

}  // namespace glint
