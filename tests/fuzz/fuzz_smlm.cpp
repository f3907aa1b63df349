// Fuzzes the reader of SMLMAnalysis localizations with columns, types and lengths of any kind.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/hdf5_readers.hpp"

GLINT_FUZZ(glint::fuzz::smlm)
