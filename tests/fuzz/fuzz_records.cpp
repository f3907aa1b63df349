// Fuzzes the reader of journals and parts of runs.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/text_readers.hpp"

GLINT_FUZZ(glint::fuzz::records)
