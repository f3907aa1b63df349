// What an operation costs beyond the library that does it, for `glint bench offload`.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "glint/offload/session.hpp"

namespace glint::cli {

struct OverheadRow {
    std::string operation, side;
    double size = 0;
    double ours_s = 0, library_s = 0;  ///< a call, one after the other; on the GPU many at once, operands there
};

/// Operations on the GPU beside cuBLAS and cuFFT called directly, and on the CPU beside OpenBLAS and the plain functions
/// that call FFTW.
std::vector<OverheadRow> overheads(offload::Session& session);

}  // namespace glint::cli
