// The table of an astigmatic PSF, for benchmarks and tests: AstigmaticXYZNB is its reference.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "glint/psf.hpp"

namespace glint {

/// Returns the coefficients of the cubic splines through the PSF of a calibration. `shape`: planes, rows and columns,
/// each at least 4. The first and the last plane lie one interval outside the range of z. One plane: the PSF at z = 0.
std::shared_ptr<const PsfTable> make_astigmatic_table(const AstigmaticCurve& curve, double pixel_nm,
                                                      const PsfTable::Shape& shape, int samples_per_px);

}  // namespace glint
