// Fuzzes the reader of LIF files: XML and blocks.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::lif)
