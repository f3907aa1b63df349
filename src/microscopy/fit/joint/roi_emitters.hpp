// Several molecules in each ROI of a stack, with one background (docs/explanation/theory.md, section 10).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "fit/joint/joint_fit.hpp"
#include "fit/kernel_abi.hpp"
#include "glint/fit.hpp"
#include "glint/roi_view.hpp"

namespace glint {

/// Returns the options for ROIs of that size, a camera with that F^2, and any number of molecules.
JointOptions joint_options(const FitSettings& settings, int roi_size, float excess_noise);

/// Joint fits of ROIs that have ordinary fits. A ROI keeps its ordinary fit if
/// - it converged and one molecule explains the pixels,
/// - no other molecule is found,
/// - or no molecule at all is found.
class RoiEmitters {
  public:
    /// `alone`: the ordinary fits, a row for each ROI. All arguments must outlive this.
    RoiEmitters(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options,
                const Fits& alone);

    /// Fits ROIs [first, first + in.count), whose pixels are `in`, until options.stop. Call it from any thread, once
    /// per ROI.
    void fit(const KernelInput& in, std::int64_t first);

    /// Returns a row for each molecule, ordered by ROI.
    Fits rows() const;

  private:
    bool stays(std::size_t roi) const;
    JointFit start(std::size_t roi) const;

    const RoiView& rois_;
    const Psf& psf_;
    const double pixel_size_nm_;
    JointOptions options_;
    const StopFlag* const stop_;
    const Fits& alone_;
    std::vector<JointFit> found_;  // by ROI; without molecules if the ordinary fit is kept
};

}  // namespace glint
