// Fuzzes the reader of TIFF movies.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::tiff)
