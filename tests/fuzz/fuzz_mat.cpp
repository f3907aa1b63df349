// Fuzzes the reader of MATLAB files, packed and not.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::mat)
