// The PSFs that tests of fits use: 130 nm wide, and the astigmatic one that the CRLB is attained with.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/psf.hpp"

namespace glint::test {

inline Psf typical_psf(PsfModel model) {
    Psf psf;
    psf.model = model;
    psf.sigma_um = 0.13;
    psf.curve = {0.13, 0.13, 0.20, 0.40, 0, 0, 0, 0, -0.6, 0.6};
    return psf;
}

}  // namespace glint::test
