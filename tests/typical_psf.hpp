// The PSFs of the fit's tests: 130 nm wide, or an astigmatic calibration with which fits attain the CRLB, or a table of that, for
// pixels of 100 nm.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/psf.hpp"
#include "tests/psf_models/tabulated_psf.hpp"

namespace glint::test {

inline Psf typical_psf(PsfModel model) {
    Psf psf;
    psf.model = model;
    psf.sigma_um = 0.13;
    psf.curve = {0.13, 0.13, 0.20, 0.40, 0, 0, 0, 0, -0.6, 0.6};
    if (describe(model).has_table) {
        static const std::shared_ptr<const PsfTable> table = spline_table(psf.curve, 0.1);
        psf.table = table;
    }
    return psf;
}

}  // namespace glint::test
