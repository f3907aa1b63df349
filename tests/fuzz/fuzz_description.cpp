// Fuzzes the readers of what ImageJ, OME and MicroManager write into a TIFF.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/text_readers.hpp"

GLINT_FUZZ(glint::fuzz::description)
