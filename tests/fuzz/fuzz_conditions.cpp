// Fuzzes the conditions of `glint filter`.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/text_readers.hpp"

GLINT_FUZZ(glint::fuzz::conditions)
