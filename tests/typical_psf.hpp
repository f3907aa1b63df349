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
    psf.sigma_nm = 130;
    psf.curve = {130, 130, 200, 400, 0, 0, 0, 0, -600, 600};
    if (describe(model).has_table) {
        static const std::shared_ptr<const PsfTable> table = spline_table(psf.curve, 100);
        psf.table = table;
    }
    return psf;
}

}  // namespace glint::test
