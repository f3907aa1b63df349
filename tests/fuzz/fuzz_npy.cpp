// Fuzzes the reader of ROI stacks in .npy files.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::npy)
