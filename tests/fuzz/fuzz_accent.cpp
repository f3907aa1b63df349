// Fuzzes the reader of ACCeNT's folder of maps.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::accent)
