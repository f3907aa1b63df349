// Localizes blocks of raw frames on one thread of the CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "base/aligned.hpp"
#include "glint/detect.hpp"
#include "pipeline/found_spots.hpp"

namespace glint {

/// Holds a detector and scratch memory, and reuses them for each block. A frame's result depends on that frame alone.
class CpuLocalizer {
  public:
    explicit CpuLocalizer(const LocalizeJob& job);  ///< `job` must outlive it
    BlockResult localize(const FrameBlock& block);
    const FitInfo& fit_info() const { return fit_info_; }  ///< of all blocks so far

  private:
    void find(const std::byte* counts, PixelType type, std::uint32_t frame, BlockResult& result);
    void fit_found(BlockResult& result);

    const LocalizeJob& job_;
    Fitter fitter_;
    Detector detector_;
    AlignedFloats photoelectrons_;
    Spots spots_;
    FoundSpots found_;
    FitInfo fit_info_;
};

}  // namespace glint
