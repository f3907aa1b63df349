// Fuzzes the readers of drift files and of beads' places.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/drift_readers.hpp"

GLINT_FUZZ(glint::fuzz::drift_files)
