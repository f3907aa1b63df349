// Fuzzes the reader of DAX movies and their descriptions.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::dax)
