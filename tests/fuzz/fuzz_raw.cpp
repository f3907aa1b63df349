// Fuzzes the reader of Picasso raw movies and their descriptions.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::raw)
