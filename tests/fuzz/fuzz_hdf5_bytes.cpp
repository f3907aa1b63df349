// Fuzzes the HDF5 readers of localizations and camera maps with damaged files.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/localization_readers.hpp"

GLINT_FUZZ(glint::fuzz::hdf5_bytes)
