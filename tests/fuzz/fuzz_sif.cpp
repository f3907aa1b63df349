// Fuzzes the reader of SIF movies: the header, times and flags.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::sif)
