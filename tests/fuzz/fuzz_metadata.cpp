// Fuzzes the readers of Picasso's metadata.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/text_readers.hpp"

GLINT_FUZZ(glint::fuzz::metadata)
