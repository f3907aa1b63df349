// Fits of a given number, on either side, for the benchmark of decisions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/fit.hpp"
#include "glint/rois.hpp"
#include "offload/machine.hpp"

namespace glint::cli {

/// Simulated ROIs of 7 px, repeated as often as needed, and a Fitter that keeps its GPU.
class FitSample {
  public:
    void use(PsfModel model);
    /// Fits the first n, and lets `machine` learn what it took.
    void run(Backend side, std::int64_t n, offload::Machine& machine);
    static offload::Work work_of(PsfModel model, std::int64_t n);

  private:
    Psf psf_;
    std::vector<float> few_;  // pixels of the ROIs that differ
    Rois rois_;
    Fitter fitter_;
};

}  // namespace glint::cli
