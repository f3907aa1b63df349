// Convert, find, cut, fit, select.
// SPDX-License-Identifier: MIT
#include "pipeline/worker.hpp"

#include <algorithm>
#include <cmath>

#include "fit/fit_setup.hpp"
#include "pipeline/duplicates.hpp"
#include "pipeline/neighbors.hpp"

namespace glint {
namespace {

// Fitted at a time: fills the vectors many times over, and bounds memory when the threshold lets noise through.
constexpr std::size_t rois_per_fit = 4096;

void clear(Rois& rois) {
    rois.pixels.clear();
    rois.x_corner.clear();
    rois.y_corner.clear();
    rois.frame.clear();
    rois.x_start.clear();
    rois.y_start.clear();
    rois.variance.clear();
    rois.additive.clear();
}

}  // namespace

void add(FitInfo& sum, const FitInfo& more) {
    if (more.fits == 0) return;
    sum.backend = more.backend;
    sum.device = more.device;
    sum.fits += more.fits;
    sum.batches += more.batches;
    sum.batch_size = std::max(sum.batch_size, more.batch_size);
    sum.seconds += more.seconds;
    if (sum.note.empty()) sum.note = more.note;
    add_gpu_part(sum, more);
}

Worker::Worker(const Job& job, Fitter& fitter)
    : job_(job),
      fitter_(fitter),
      detector_(job.camera, {.sigma_px = job.options.psf.detection_sigma_um() / job.pixel_size_um,
                             .threshold = job.options.threshold}),
      photoelectrons_(std::size_t(job.camera.width()) * job.camera.height()),
      rois_(make_rois(job.camera, job.options.roi_size)) {}

BlockResult Worker::localize(const FrameBlock& block) {
    clear(rois_);  // a block that was stopped may have left some
    scores_.clear();
    BlockResult result;
    result.first_frame = block.first_frame;
    for (int k = 0; k < block.count; ++k) {
        find(block.frame(k), block.type, std::uint32_t(block.first_frame + k), result);
        if (rois_.count() >= rois_per_fit) fit_found(result);
    }
    fit_found(result);
    return result;
}

void Worker::find(const std::byte* counts, PixelType type, std::uint32_t frame, BlockResult& result) {
    result.counts.bad_pixels += job_.camera.to_photoelectrons(counts, type, photoelectrons_);
    detector_.find(photoelectrons_, spots_);
    result.empty_score_spreads.push_back(float(detector_.empty_score_spread()));
    cut_rois(photoelectrons_, job_.camera, spots_, frame, rois_);
    scores_.insert(scores_.end(), spots_.score.begin(), spots_.score.end());
}

Fits Worker::fit(const Rois& rois, FitInfo& info) const {
    FitOptions options = job_.options.fit;
    options.threads = 1;  // the blocks are what runs in parallel
    options.progress = {};
    // A block once begun is finished, so that a stop loses nothing; but a wait for a GPU may be long.
    options.stop = chosen(options.backend) == Backend::cpu ? nullptr : job_.options.stop;
    return fitter_.fit(rois, job_.options.psf, job_.pixel_size_um, options, &info);
}

void Worker::fit_found(BlockResult& result) {
    if (scores_.empty()) return;
    FitInfo info;
    Fits fits = fit(rois_, info);
    add(fit_info_, info);
    const auto fit_again = [&](const Rois& crowded) {
        FitInfo again;
        Fits better = fit(crowded, again);
        add_gpu_part(fit_info_, again);
        return better;
    };
    refit_with_neighbors(rois_, job_.options.psf, job_.pixel_size_um, job_.options.neighbor_rounds, fit_again, fits);
    Localizations all = to_localizations(fits, rois_, job_.options.psf, job_.options.pixel_size_nm, true);
    all.detection_score = scores_;
    append(result.rows, select_rows(all, result.counts));
    scores_.clear();
    clear(rois_);
}

bool Worker::wandered(const Localizations& all, std::size_t row) const {
    const float dx = all.x_px[row] - float(rois_.x_corner[row]) - rois_.x_start[row];
    const float dy = all.y_px[row] - float(rois_.y_corner[row]) - rois_.y_start[row];
    const float reach = job_.stay_px + std::hypot(all.lpx_px[row], all.lpy_px[row]);
    return std::hypot(dx, dy) > reach;
}

Localizations Worker::select_rows(const Localizations& all, BlockCounts& counts) const {
    std::vector<std::size_t> keep;
    counts.spots += std::int64_t(all.size());
    for (std::size_t row = 0; row < all.size(); ++row)
        if (FitStatus(all.status[row]) != FitStatus::converged)
            ++counts.not_converged;
        else if (wandered(all, row))
            ++counts.wandered;
        else
            keep.push_back(row);
    counts.duplicates += std::int64_t(drop_duplicates(all, job_.duplicate_radius_px, keep));
    return job_.options.keep_failed ? all : select(all, keep);
}

}  // namespace glint
