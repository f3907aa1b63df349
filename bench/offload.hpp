// Measurements of `glint bench offload`: any number of fits on either side, and overheads over direct library calls.
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
    /// Fits the first n ROIs, and passes the measured time to `machine`.
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
    double ours_s = 0, library_s = 0;  ///< per call: in sequence on the CPU; many in flight on the GPU, operands there
};

/// Compares operations on the GPU with direct calls of cuBLAS and cuFFT, and on the CPU with OpenBLAS and plain
/// functions that call FFTW. Leaves out operands with more than `max_numbers` numbers.
std::vector<OverheadRow> overheads(offload::Session& session, std::int64_t max_numbers);

}  // namespace glint::cli
