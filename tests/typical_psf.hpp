// The PSFs of the fit's tests, for pixels of 100 nm: a sigma of 130 nm, or an astigmatic calibration with which fits
// attain the CRLB, or a table of that calibration.
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
        static const std::shared_ptr<const PsfTable> flat = make_astigmatic_table(psf.curve, 100, {1, 70, 70, 1}, 2);
        psf.table = describe(model).has_z ? table : flat;
    }
    return psf;
}

}  // namespace glint::test
