// Turns spots and their fits into rows of the output, for both CPU and GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "fit/joint/joint_fit.hpp"
#include "glint/fits.hpp"
#include "glint/rois.hpp"
#include "pipeline/block_result.hpp"
#include "pipeline/groups.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// Spots of whole frames, ordered by frame, row and column.
struct FoundSpots {
    explicit FoundSpots(const LocalizeJob& job);

    Rois rois;
    Rois wide;  ///< larger windows of the same spots, for joint fits; empty with one emitter per window
    std::vector<float> scores;
    Fits fits;
    std::vector<std::uint32_t>
        group_sizes;  ///< by row: of joint fits the molecules in the group, else 0; empty: none is one
    std::vector<std::uint32_t> saturated;  ///< number of saturated pixels per window; empty if there are none
    std::vector<std::uint8_t> hit;         ///< per window: 1 if only its brightest pixel was hit; empty if none was

    /// Cuts the windows of a frame's spots out of its `photoelectrons`.
    void cut(std::span<const float> photoelectrons, const CameraView& camera, const Spots& spots, std::uint32_t frame);
    void clear();  ///< keeps the allocated memory
    void append(const FoundSpots& more);
};

/// Returns the job's options for joint fits.
JointOptions joint_options(const LocalizeJob& job);

/// Fits a stack of windows on the calling thread.
Fits fit_on_this_thread(const LocalizeJob& job, Fitter& fitter, const Rois& rois, FitInfo& info);

/// After a stop, a block in progress is still finished, so that no work is lost. Blocks with more spots are given up.
constexpr std::size_t spots_done_soon = 4096;
/// Throws Cancelled after a stop if `found` has more spots than spots_done_soon, whose fits may take long.
void give_up_if_stopped(const LocalizeJob& job, const FoundSpots& found);

/// Fits overlapping spots again, with their neighbours known. Then converts all spots to rows, counts the outcomes, and
/// adds the rows that the job keeps to `result`. Joint fits run on the calling thread, or by `on_gpu`. Throws Cancelled
/// under the condition of give_up_if_stopped().
void add_rows(const LocalizeJob& job, Fitter& fitter, FoundSpots& found, BlockResult& result,
              const FindOnGpu& on_gpu = {});

}  // namespace glint
