// Fuzzes the reader of camera maps with types, values and units of any kind.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/hdf5_readers.hpp"

GLINT_FUZZ(glint::fuzz::maps)
