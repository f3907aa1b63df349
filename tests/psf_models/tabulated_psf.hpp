// A table for TabulatedXYZNB and SplineXYZNB, 1 MiB of coefficients.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "glint/psf.hpp"
#include "psf/astigmatic_table.hpp"

namespace glint::test {

inline std::shared_ptr<const PsfTable> spline_table(const AstigmaticCurve& curve, double pixel_nm) {
    return make_astigmatic_table(curve, pixel_nm, {17, 126, 126, 1}, 2);
}

}  // namespace glint::test
