// Compares the result with what isolated beads, a correct camera and a good lens give.
// SPDX-License-Identifier: MIT
#include "analysis/lens/psf_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/lens/psf_shape.hpp"
#include "base/median.hpp"

namespace glint::lens {
namespace {

constexpr double max_phase_gap_px = 0.5;
constexpr double min_good_p = 0.9;           // 0.99 for an exact model
constexpr double max_deviance_error = 0.1;   // a PSF's error whose square is a tenth of the noise's variance
constexpr double errors_beyond = 3;          // standard errors of both, by the number of fits
constexpr double max_shift = 0.15;           // nm per nm of z; the steepest of four real lenses has 0.09
constexpr double errors_below_offset = 5;    // standard errors of a dark pixel's mean
constexpr double coarse_knot_nm = 110;       // chosen only if slices are far apart
constexpr double range_tolerance_nm = 25.0;  // half of a bin

std::vector<const PsfBead*> list_used(const PsfCalibration& c) {
    std::vector<const PsfBead*> used;
    for (const PsfBead& bead : c.beads)
        if (bead.rejected.empty()) used.push_back(&bead);
    return used;
}

/// The largest distance of sub-pixel positions, around the pixel.
double find_phase_gap(std::vector<double> positions) {
    for (double& x : positions) x -= std::floor(x);
    std::sort(positions.begin(), positions.end());
    double gap = positions.front() + 1 - positions.back();
    for (std::size_t k = 1; k < positions.size(); ++k) gap = std::max(gap, positions[k] - positions[k - 1]);
    return gap;
}

std::string doubt_number(const PsfCalibration& c) {
    const std::size_t beads = list_used(c).size();
    if (beads >= recommended_beads) return {};
    return fmt::format(
        "the PSF is from {} {}: fewer than {} beads do not average over sub-pixel positions, so that errors of "
        "molecules exceed their CRLB, {}. Record more beads",
        beads, beads == 1 ? "bead" : "beads", recommended_beads, beads == 1 ? "by up to 3 times" : "by up to 2 times");
}

std::string doubt_phases(const PsfCalibration& c) {
    std::vector<double> x, y;
    for (const PsfBead* bead : list_used(c)) x.push_back(bead->x_px), y.push_back(bead->y_px);
    const double gap = x.size() > 1 ? std::max(find_phase_gap(x), find_phase_gap(y)) : 0;
    if (gap <= max_phase_gap_px) return {};
    return fmt::format(
        "no bead lies in {:.0f} % of the sub-pixel positions: molecules there can have errors beyond their CRLB. "
        "Record more beads",
        100 * gap);
}

std::string doubt_range(const PsfCalibration& c) {
    const PsfTable::Scale& scale = c.table->scale();
    if (c.z_min_nm <= scale.z_min_nm + range_tolerance_nm && c.z_max_nm >= scale.z_max_nm - range_tolerance_nm)
        return {};
    return fmt::format(
        "the usable range is {:.0f} to {:.0f} nm, and the stack reaches from {:.0f} to {:.0f} nm: beyond the range, "
        "fits to {} miss z by more than 20 nm, or do not converge",
        c.z_min_nm, c.z_max_nm, scale.z_min_nm, scale.z_max_nm, describe_tested(c.judged_by_slices));
}

/// How many fits `deviance` and `good_p` are from.
double count_fits(const PsfCalibration& c) {
    double fits = 0;
    for (const PsfSliceError& bin : c.slices)
        if (bin.z_nm > c.z_min_nm && bin.z_nm < c.z_max_nm) fits += bin.fits * (1 - bin.wrong);
    return std::max(fits, 1.0);
}

std::string doubt_fits(const PsfCalibration& c) {
    const double fits = count_fits(c), pixels = double(c.fit_roi_size) * c.fit_roi_size;
    const double share_error = std::sqrt(min_good_p * (1 - min_good_p) / fits);
    const double limit = max_deviance_error + errors_beyond * std::sqrt(2 / (fits * pixels));
    const bool is_low = c.deviance < 1 - limit;
    const bool is_high = c.deviance > 1 + limit;
    if (!is_low && !is_high && c.good_p >= min_good_p - errors_beyond * share_error) return {};
    const std::string found = fmt::format(
        "fits to {} have a deviance of {:.2f} per degree of freedom, and {:.1f} % have p > 0.01; a correct PSF and "
        "camera give 1.00 and 99 %. ",
        describe_tested(c.judged_by_slices), c.deviance, 100 * c.good_p);
    if (is_low)
        return found + "The noise is lower than the camera's values predict: check `gain`, `em_gain` and `offset`";
    std::string causes = "wrong `offset`, `gain` or `em_gain`; beads that overlap, move or bleach";
    if (c.knot_nm > coarse_knot_nm) causes = "slices that are too far apart; " + causes;
    const bool has_field = c.table->field().cells() > 1;
    if (list_used(c).size() < (has_field ? recommended_field_beads : recommended_beads))
        causes = "the noise of a PSF from so few beads; " + causes;
    else if (!has_field)
        causes += "; a PSF that changes over the field";
    return found + "Possible causes: " + causes;
}

std::string doubt_shift(const PsfCalibration& c) {
    const double nm_per_um = 1000 * std::hypot(c.x_tilt, c.y_tilt);
    const double px_per_um = nm_per_um / c.table->scale().pixel_size_nm;
    if (nm_per_um <= 1000 * max_shift) return {};
    return fmt::format(
        "the PSF moves sideways by {:.2f} px ({:.0f} nm) per um of z, and more than {:.0f} nm is not plausible for a "
        "lens: the sample drifted while the stack was recorded, or `z_step` is too small. x and y of molecules then "
        "depend on z. Record the stack faster, or after the stage has settled",
        px_per_um, nm_per_um, 1000 * max_shift);
}

std::string doubt_lobes(const PsfCalibration& c, const Spline& spline) {
    const double distance = find_fixed_lobes(spline, c.z_min_nm, c.z_max_nm);
    if (distance == 0) return {};
    return fmt::format(
        "the PSF has two maxima {:.1f} px apart, which neither turn nor separate with z: each window contains two "
        "beads, unless the lens splits spots. Record sparser beads",
        distance);
}

}  // namespace

const char* describe_tested(bool by_slices) {
    return by_slices ? "slices that were left out" : "beads that were left out";
}

std::string doubt_offset(const Projection& projection) {
    const double middle = median(projection.mean);
    if (middle >= -errors_below_offset * projection.noise) return {};
    return fmt::format("Most counts are below the offset (the median pixel has {:.3g} photoelectrons): reduce `offset`",
                       middle);
}

std::vector<std::string> find_doubts(const PsfCalibration& calibration, const Spline& spline) {
    std::vector<std::string> warnings;
    for (std::string doubt : {doubt_number(calibration), doubt_fits(calibration), doubt_lobes(calibration, spline),
                              doubt_shift(calibration), doubt_phases(calibration), doubt_range(calibration)})
        if (!doubt.empty()) warnings.push_back(std::move(doubt));
    return warnings;
}

}  // namespace glint::lens
