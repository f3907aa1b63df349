// Converts frames, finds spots, cuts windows, fits them and selects rows.
// SPDX-License-Identifier: MIT
#include "pipeline/cpu_localizer.hpp"

#include "fit/fit_info.hpp"
#include "pipeline/zero_border.hpp"

namespace glint {
namespace {

// ROIs per call: enough to fill the vectors many times. Limits memory if the threshold lets noise through.
constexpr std::size_t rois_per_fit = spots_done_soon;

}  // namespace

CpuLocalizer::CpuLocalizer(const LocalizeJob& job)
    : job_(job),
      detector_(job.camera, detect_options(job)),
      photoelectrons_(std::size_t(job.camera.width()) * job.camera.height()),
      found_(job) {}

BlockResult CpuLocalizer::localize(const FrameBlock& block) {
    BlockResult result;
    found_.clear();  // an interrupted block may have left spots
    result.first_frame = block.first_frame;
    for (int k = 0; k < block.count; ++k) {
        find(block.frame(k), block.type, std::uint32_t(block.first_frame + k), result);
        if (found_.scores.size() >= rois_per_fit) fit_found(result);
    }
    fit_found(result);
    return result;
}

void CpuLocalizer::find(const std::byte* counts, PixelType type, std::uint32_t frame, BlockResult& result) {
    result.counts.bad_pixels += job_.camera.to_photoelectrons(counts, type, photoelectrons_);
    note_zero_border(counts, type, job_.camera.width(), job_.camera.height(), frame, result.counts);
    detector_.find(photoelectrons_, spots_);
    result.noise_checks.push_back(float(detector_.noise_check()));
    found_.cut(photoelectrons_, job_.camera, spots_, frame);
}

void CpuLocalizer::fit_found(BlockResult& result) {
    if (found_.scores.empty()) return;
    give_up_if_stopped(job_, found_);
    FitInfo info;
    found_.fits = fit_on_this_thread(job_, fitter_, found_.rois, info);
    add(fit_info_, info);
    add_rows(job_, fitter_, found_, result);
    found_.clear();
}

}  // namespace glint
