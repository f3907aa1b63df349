// What `glint bench offload` measures: fits of any number on either side, and overheads over the libraries.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/fit.hpp"
#include "glint/offload/session.hpp"
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

struct OverheadRow {
    std::string operation, side;
    double size = 0;
    double ours_s = 0, library_s = 0;  ///< a call, one after the other; on the GPU many at once, operands there
};

/// Operations on the GPU beside cuBLAS and cuFFT called directly, and on the CPU beside OpenBLAS and plain functions
/// that call FFTW. Operands of more numbers are left out.
std::vector<OverheadRow> overheads(offload::Session& session, std::int64_t most_numbers);

}  // namespace glint::cli
