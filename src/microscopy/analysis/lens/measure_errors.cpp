// Cross-validation, bins of z, the usable range and its summary.
// SPDX-License-Identifier: MIT
#include "analysis/lens/measure_errors.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/lens/bead_model.hpp"
#include "analysis/lens/compare_gaussian.hpp"
#include "analysis/lens/held_out.hpp"
#include "analysis/lens/usable_z.hpp"
#include "base/median.hpp"

namespace glint::lens {
namespace {

constexpr double errors_from_end = 3;  // CRLB; fits nearer to the ends of the table are not summarized
constexpr double bin_nm = 50;
constexpr int light_slices = 41;
constexpr double part_of_light = 0.85;  // of the window's, in the window of the fits
constexpr double min_depth_nm = 100;    // of the usable range
constexpr std::size_t max_held_out_fits = 1500;

/// The smallest window that contains most of the light of the window at most z: fits need no more.
int find_fit_window(const Spline& spline) {
    const SplineGrid& grid = spline.grid;
    const int window = grid.window;
    std::vector<double> z;
    for (int k = 0; k < light_slices; ++k)
        z.push_back(grid.z_min_nm + (grid.z_max_nm - grid.z_min_nm) * (k + 0.5) / light_slices);
    const std::vector<float> h = BeadModel(grid, z, window, {}).images(spline.coefficients);
    const auto light = [&](std::size_t slice, int half) {
        double sum = 0;
        for (int j = window / 2 - half; j <= window / 2 + half; ++j)
            for (int i = window / 2 - half; i <= window / 2 + half; ++i)
                sum += std::max(
                    0.0f, h[(slice * std::size_t(window) + std::size_t(j)) * std::size_t(window) + std::size_t(i)]);
        return sum;
    };
    std::vector<int> halves;
    for (std::size_t k = 0; k < z.size(); ++k) {
        int half = std::min(3, window / 2);
        while (half < window / 2 && light(k, half) < part_of_light * light(k, window / 2)) ++half;
        halves.push_back(half);
    }
    std::sort(halves.begin(), halves.end());
    return 2 * halves[halves.size() * 9 / 10] + 1;
}

/// The end of the table cuts off the errors of fits near it. Beads so dim that all fits are near an end are
/// summarized nevertheless.
void summarize(const HeldOut& held_out, PsfCalibration& out) {
    std::vector<const HeldOutFit*> right, inner;
    const PsfTable::Scale& scale = out.table->scale();
    for (const HeldOutFit& each : held_out.fits) {
        if (each.wrong || each.z_nm < out.z_min_nm || each.z_nm > out.z_max_nm) continue;
        const double cut = errors_from_end * each.fit.crlb[fit_z];
        right.push_back(&each);
        if (each.z_nm >= scale.z_min_nm + cut && each.z_nm <= scale.z_max_nm - cut) inner.push_back(&each);
    }
    double n = 0, sz = 0, szz = 0, se = 0, sze = 0, see = 0;
    std::vector<double> crlb;
    for (const HeldOutFit* each : inner.empty() ? right : inner) {
        n += 1, sz += each->z_nm, szz += each->z_nm * each->z_nm, se += each->z_error_nm;
        sze += each->z_nm * each->z_error_nm, see += each->z_error_nm * each->z_error_nm;
        out.deviance += each->fit.deviance / each->fit.degrees_of_freedom;
        out.good_p += each->fit.p_value > 0.01;
        crlb.push_back(each->fit.crlb[fit_z]);
    }
    const double spread = n * szz - sz * sz;
    out.z_slope = spread > 0 ? 1 + (n * sze - sz * se) / spread : 0;
    out.z_rms_nm = std::sqrt(see / n), out.z_crlb_nm = median(crlb);
    out.deviance /= n, out.good_p /= n;
}

}  // namespace

bool measure_errors(const BeadSet& beads, const LearnOptions& options, const Spline& spline, double z_step_nm,
                    PsfCalibration& out) {
    out.fit_roi_size = find_fit_window(spline);
    std::size_t slices = 0;
    for (const BeadWindow& window : beads.windows) slices += window.slices();
    const HeldOut held_out = fit_held_out(beads.windows, beads.places, options, out.fit_roi_size,
                                          std::max<std::size_t>(1, slices / max_held_out_fits));
    out.judged_by_slices = held_out.by_slices;
    out.slices = errors_over_z(held_out, std::max(bin_nm, std::abs(z_step_nm)), out.table->scale().pixel_size_nm);
    const UsableBins range = find_usable_bins(out.slices);
    const double half_bin = out.slices.size() > 1 ? 0.5 * (out.slices[1].z_nm - out.slices[0].z_nm) : 0;
    if (range.empty() || out.slices[range.last].z_nm - out.slices[range.first].z_nm + 2 * half_bin < min_depth_nm)
        return false;
    out.z_min_nm = out.slices[range.first].z_nm - half_bin, out.z_max_nm = out.slices[range.last].z_nm + half_bin;
    summarize(held_out, out);
    out.gaussian = compare_gaussian(beads, held_out, out);
    return true;
}

}  // namespace glint::lens
