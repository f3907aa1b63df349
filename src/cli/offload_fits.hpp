// Fits of a given number, on either side, for the benchmark of decisions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "glint/fit.hpp"
#include "offload/machine.hpp"

namespace glint::cli {

std::vector<PsfModel> fit_models();

/// Simulated ROIs of 7 px, repeated as often as need be, and a Fitter that keeps its GPU.
class FitSample {
  public:
    FitSample(PsfModel model, std::int64_t most);
    /// Fits the first n, and lets `machine` learn what it took.
    void run(offload::Side side, std::int64_t n, offload::Machine& machine);
    static offload::Work work_of(PsfModel model, std::int64_t n);

  private:
    Psf psf_;
    Rois all_, part_;
    Fitter fitter_;
};

}  // namespace glint::cli
