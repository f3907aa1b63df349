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

/// As the settings have them, for ROIs of that size and a camera of that F^2; any number of molecules.
JointOptions joint_options(const FitSettings& settings, int roi_size, float excess_noise);

/// Joint fits of ROIs that have their ordinary fit. A ROI keeps its ordinary fit if that converged and one molecule
/// explains the pixels, or if no other molecule is found. If no molecule at all is found, it keeps it too.
class RoiEmitters {
  public:
    /// `alone`: the ordinary fits, a row for each ROI; all arguments stay borrowed.
    RoiEmitters(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options,
                const Fits& alone);

    /// Fits ROIs [first, first + in.count), whose pixels are `in`, until options.stop. From any thread; each ROI once.
    void fit(const KernelInput& in, std::int64_t first);

    /// A row for each molecule, ordered by ROI.
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
    std::vector<JointFit> found_;  // by ROI; without molecules where the ordinary fit stays
};

}  // namespace glint
