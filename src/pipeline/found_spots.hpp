// From spots and their fits to rows of the output: the same wherever they were found and fitted.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/fits.hpp"
#include "glint/rois.hpp"
#include "pipeline/block_result.hpp"
#include "pipeline/job.hpp"

namespace glint {

/// Spots of whole frames, by frame, row and column.
struct FoundSpots {
    Rois rois;
    std::vector<float> scores;
    Fits fits;

    void clear();  ///< keeps its memory
    void append(const FoundSpots& more);
};

/// Fits a stack on the thread that calls.
Fits fit_on_this_thread(const Job& job, Fitter& fitter, const Rois& rois, FitInfo& info);

/// A stop lets a block come to its end, so that nothing is lost. With more spots than this that may take long:
constexpr std::size_t spots_done_soon = 4096;
/// then throws Cancelled.
void give_up_if_stopped(const Job& job, const FoundSpots& found);

/// Fits spots that overlap again, with their neighbours known; then makes rows of all, counts what became of them, and
/// adds those that the job keeps to `result`. Throws Cancelled as give_up_if_stopped.
void add_rows(const Job& job, Fitter& fitter, FoundSpots& found, BlockResult& result);

}  // namespace glint
