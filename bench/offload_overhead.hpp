// The overhead of an operation over the library that does it, for `glint bench offload`.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/offload/session.hpp"

namespace glint::cli {

struct OverheadRow {
    std::string operation, side;
    double size = 0;
    double ours_s = 0, library_s = 0;  ///< a call, one after the other; on the GPU many at once, operands there
};

/// Operations on the GPU beside cuBLAS and cuFFT called directly, and on the CPU beside OpenBLAS and plain functions
/// that call FFTW. Operands of more numbers are left out.
std::vector<OverheadRow> overheads(offload::Session& session, std::int64_t most_numbers);

}  // namespace glint::cli
