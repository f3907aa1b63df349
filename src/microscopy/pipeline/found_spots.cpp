// Refits spots, converts fits to rows and selects rows.
// SPDX-License-Identifier: MIT
#include "pipeline/found_spots.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <type_traits>

#include "base/micrometres.hpp"
#include "fit/joint/roi_emitters.hpp"
#include "glint/error.hpp"
#include "pipeline/duplicates.hpp"
#include "pipeline/missing_pixels.hpp"
#include "pipeline/neighbors.hpp"
#include "pipeline/p_single.hpp"
#include "pipeline/unusable_pixels.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

/// Calls visit(column of a, same column of b) for every column with one value per ROI or row.
template <class R, class Visit>
requires std::same_as<std::remove_const_t<R>, Rois>
void for_columns(R& a, const Rois& b, const Visit& visit) {
    visit(a.pixels, b.pixels), visit(a.variance, b.variance), visit(a.additive, b.additive), visit(a.qe, b.qe);
    visit(a.x_corner, b.x_corner), visit(a.y_corner, b.y_corner), visit(a.frame, b.frame);
    visit(a.x_start, b.x_start), visit(a.y_start, b.y_start);
}
template <class F, class Visit>
requires std::same_as<std::remove_const_t<F>, Fits>
void for_columns(F& a, const Fits& b, const Visit& visit) {
    for (int k = 0; k < max_parameters; ++k) visit(a.theta[k], b.theta[k]), visit(a.crlb[k], b.crlb[k]);
    visit(a.log_likelihood_ratio, b.log_likelihood_ratio), visit(a.p_value, b.p_value);
    visit(a.iterations, b.iterations), visit(a.status, b.status), visit(a.window, b.window);
}

constexpr float min_photons = 1;  // the kernels' lower bound of N

/// Returns true if a fit ended too far from the spot for which its window was cut.
bool wandered(const LocalizeJob& job, const FoundSpots& found, const Localizations& all, std::size_t row) {
    const Rois& rois = found.rois;
    const std::size_t window = found.fits.window_index(row);
    const float dx = all.x_px[row] - float(rois.x_corner[window]) - rois.x_start[window];
    const float dy = all.y_px[row] - float(rois.y_corner[window]) - rois.y_start[window];
    const float reach = job.stay_px + std::hypot(all.lpx_px[row], all.lpy_px[row]);
    return std::hypot(dx, dy) > reach;
}

bool in_group(const FoundSpots& found, std::size_t row) {
    return !found.group_sizes.empty() && found.group_sizes[row] > 0;
}

/// Returns true if a fit ended with z at the bound of the calibrated range, or in a group with a width at the bound
/// given by lone spots, and with no other parameter at a bound. Its x and y are right.
bool ends_at_known_bound(const LocalizeJob& job, const FoundSpots& found, std::size_t row) {
    const Fits& fits = found.fits;
    if (fits.status[row] != FitStatus::at_bound || !(fits.theta[2][row] > min_photons)) return false;
    const bool has_known_widths = job.lone.max_width_nm > 0 && in_group(found, row);
    const PsfInDouble psf(job.options.psf, job.options.pixel_size_nm);
    const WidthLimits limits = joint_options(job).widths;
    const std::span<const ShapeParameter> shape = shape_parameters_of(fits.model);
    for (std::size_t k = 0; k < shape.size(); ++k) {
        if (shape[k].column == PsfColumn::own || (shape[k].column != PsfColumn::z && !has_known_widths)) continue;
        const PsfBounds bounds = psf.bounds(int(k), limits);
        const float at = fits.theta[4 + k][row];
        if (at <= float(bounds.low) || at >= float(bounds.high)) return true;
    }
    return false;
}

/// Returns true if a molecule of a group moved to where no pixel constrains it: its photons are less than their
/// uncertainty, or it ended at the limit of positions beyond the frame.
bool strayed(const LocalizeJob& job, const FoundSpots& found, const Localizations& all, std::size_t row) {
    const float limit = job.options.fit.position_margin_px - 1e-3f, x = all.x_px[row], y = all.y_px[row];
    return !(found.fits.crlb[2][row] < found.fits.theta[2][row]) || std::min(x, y) <= -limit ||
           x >= float(job.camera.width() - 1) + limit || y >= float(job.camera.height() - 1) + limit;
}

/// Returns true if the spot was only a hit: without that pixel, its light is below the detection threshold.
bool was_hit(const LocalizeJob& job, const FoundSpots& found, std::size_t row) {
    if (found.hit.empty() || found.hit[found.fits.window_index(row)] == 0) return false;
    const Fits& fits = found.fits;
    return !has_position(fits.status[row]) ||
           !(double(fits.theta[2][row]) > job.options.threshold * double(fits.crlb[2][row]));
}

/// Marks rows with too much of their light in saturated pixels.
void mark_saturated(const LocalizeJob& job, const FoundSpots& found, std::span<const std::size_t> kept,
                    Localizations& rows, BlockCounts& counts) {
    for (const std::size_t row : kept)
        if (FitStatus(rows.status[row]) == FitStatus::converged &&
            saturated_light(job, found, row) > max_saturated_light)
            rows.status[row] = std::uint8_t(FitStatus::saturated), ++counts.mostly_saturated;
}

/// Counts the molecules that joint fits added to a spot's own one, and the spots that were left without a molecule.
void count_molecules(const FoundSpots& found, BlockCounts& counts) {
    std::vector<std::uint32_t> molecules(found.scores.size(), 0);
    for (std::size_t row = 0; row < found.fits.count(); ++row) ++molecules[found.fits.window_index(row)];
    counts.spots += std::int64_t(molecules.size());
    for (const std::uint32_t n : molecules) n == 0 ? ++counts.merged : counts.added += n - 1;
}

Localizations select_rows(const LocalizeJob& job, const FoundSpots& found, Localizations all, BlockCounts& counts) {
    std::vector<std::size_t> keep;
    count_molecules(found, counts);
    for (std::size_t row = 0; row < all.size(); ++row)
        if (was_hit(job, found, row))
            ++counts.hits;
        else if (FitStatus(all.status[row]) != FitStatus::converged && !ends_at_known_bound(job, found, row))
            ++counts.not_converged;
        else if (in_group(found, row) ? strayed(job, found, all, row) : wandered(job, found, all, row))
            ++counts.wandered;
        else
            keep.push_back(row);
    if (found.group_sizes.empty())
        counts.duplicates += std::int64_t(drop_duplicates(all, job.duplicate_radius_px, keep));
    for (const std::uint32_t pixels : found.saturated) counts.saturated += pixels > 0;
    if (!found.saturated.empty()) mark_saturated(job, found, keep, all, counts);
    for (const std::size_t row : keep) counts.at_bound += FitStatus(all.status[row]) == FitStatus::at_bound;
    return job.options.keep_failed || keep.size() == all.size() ? std::move(all) : select(all, keep);
}

}  // namespace

// Two more pixels on each side contain the images of molecules at a window's edge, and background. Calibrated widths
// are valid only in the calibration's window.
FoundSpots::FoundSpots(const LocalizeJob& job) : rois(make_rois(job.camera, job.options.roi_size)) {
    const int more = has_calibrated_window(job.options.psf) ? 0 : 4;
    const int most = std::min({max_roi_size, job.camera.width(), job.camera.height()});
    if (job.options.fit.emitters == any_emitters) wide = make_rois(job.camera, std::min(rois.size + more, most));
}

void FoundSpots::cut(std::span<const float> photoelectrons, const CameraView& camera, const Spots& spots,
                     std::uint32_t frame) {
    cut_rois(photoelectrons, camera, spots, frame, rois);
    if (wide.size > 0) cut_rois(photoelectrons, camera, spots, frame, wide);
    scores.insert(scores.end(), spots.score.begin(), spots.score.end());
}

void FoundSpots::clear() {
    for_columns(rois, rois, [](auto& column, const auto&) { column.clear(); });
    for_columns(wide, wide, [](auto& column, const auto&) { column.clear(); });
    for_columns(fits, fits, [](auto& column, const auto&) { column.clear(); });
    scores.clear(), group_sizes.clear(), saturated.clear(), hit.clear();
}

void FoundSpots::append(const FoundSpots& more) {
    const auto extend = [](auto& column, const auto& by) { column.insert(column.end(), by.begin(), by.end()); };
    const std::size_t windows = rois.count(), from = fits.window.size();
    for_columns(rois, more.rois, extend);
    for_columns(wide, more.wide, extend);
    for_columns(fits, more.fits, extend);
    for (std::size_t row = from; row < fits.window.size(); ++row) fits.window[row] += std::uint32_t(windows);
    extend(scores, more.scores);
}

JointOptions joint_options(const LocalizeJob& job) {
    JointOptions joint = joint_options(job.options.fit, job.options.roi_size, job.camera.excess_noise());
    joint.satellites = job.lone.satellites;
    // An unlimited width would absorb all light around it and leave none for a second molecule.
    if (job.lone.max_width_nm > 0) {
        const double pixel_size_um = um_of(job.options.pixel_size_nm);
        joint.widths.min_px = std::max(joint.widths.min_px, um_of(job.lone.min_width_nm) / pixel_size_um);
        joint.widths.max_px = std::min(joint.widths.max_px, um_of(job.lone.max_width_nm) / pixel_size_um);
    }
    return joint;
}

Fits fit_on_this_thread(const LocalizeJob& job, Fitter& fitter, const Rois& rois, FitInfo& info) {
    return fitter.fit(rois, job.options.psf, job.options.pixel_size_nm, single_fits(job), &info);
}

void give_up_if_stopped(const LocalizeJob& job, const FoundSpots& found) {
    if (found.scores.size() > spots_done_soon && job.options.stop && job.options.stop->load())
        throw Cancelled("stopped within a block");
}

void add_rows(const LocalizeJob& job, Fitter& fitter, FoundSpots& found, BlockResult& result, const FindOnGpu& on_gpu) {
    if (found.scores.empty()) return;
    const auto fit_again = [&](const Rois& crowded) {
        give_up_if_stopped(job, found);
        FitInfo unused;
        Fits fits = fit_on_this_thread(job, fitter, crowded, unused);
        fit_with_missing(job, fitter, crowded, fits, {});
        return fits;
    };
    leave_out_unusable(job, found);
    fit_with_missing(job, fitter, found.rois, found.fits, found.saturated);
    if (job.options.fit.emitters == any_emitters) {
        give_up_if_stopped(job, found);
        found.group_sizes = fit_groups(found.rois, found.wide, job.options.psf, job.options.pixel_size_nm,
                                       joint_options(job), job.options.stop, on_gpu, found.fits);
    } else {
        refit_with_neighbors(found.rois, job.options.psf, job.options.pixel_size_nm, job.options.neighbor_rounds,
                             fit_again, found.fits);
    }
    Localizations all = to_localizations(found.fits, found.rois, job.options.psf, job.options.pixel_size_nm, true);
    for (std::size_t row = 0; row < all.size(); ++row)
        all.detection_score.push_back(found.scores[found.fits.window_index(row)]);
    all.emitters.assign(found.group_sizes.begin(), found.group_sizes.end());
    Localizations kept = select_rows(job, found, std::move(all), result.counts);
    if (job.options.fit.emitters == any_emitters) add_p_single(job, kept);
    if (result.rows.size() == 0)
        result.rows = std::move(kept);
    else
        append(result.rows, kept);
}

}  // namespace glint
