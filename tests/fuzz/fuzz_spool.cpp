// Fuzzes the reader of spooled frames' descriptions.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::spool)
