// Fuzzes the reader of NDTiff's index.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::ndtiff)
