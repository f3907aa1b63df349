// Fuzzes the reader of SPE movies: headers and XML footers.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::spe)
