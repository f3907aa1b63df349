// Fuzzes the reader of DCIMG movies: headers and footers.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::dcimg)
