// Fuzzes the readers of movies of several TIFFs: folders, Micro-Manager, OME-TIFF sets.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/readers.hpp"

GLINT_FUZZ(glint::fuzz::tiff_files)
