// One thread's way from a block of raw frames to localizations.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/detect.hpp"
#include "pipeline/block_result.hpp"
#include "pipeline/job.hpp"

namespace glint {

/// Adds up how fits were run.
void add(FitInfo& sum, const FitInfo& more);

/// Holds a detector and scratch memory, reused block after block. The result of a frame depends on the frame alone.
class Worker {
  public:
    Worker(const Job& job, Fitter& fitter);  ///< both must outlive it
    /// Throws Cancelled when it is stopped while it waits for a GPU.
    BlockResult localize(const FrameBlock& block);
    const FitInfo& fit_info() const { return fit_info_; }  ///< of all blocks so far

  private:
    Fits fit(const Rois& rois, FitInfo& info) const;
    void find(const std::byte* counts, PixelType type, std::uint32_t frame, BlockResult& result);
    void fit_found(BlockResult& result);
    bool wandered(const Localizations& all, std::size_t row) const;
    Localizations select_rows(const Localizations& all, BlockCounts& counts) const;

    const Job& job_;
    Fitter& fitter_;
    Detector detector_;
    std::vector<float> photoelectrons_;
    Spots spots_;
    Rois rois_;
    std::vector<float> scores_;
    FitInfo fit_info_;
};

}  // namespace glint
