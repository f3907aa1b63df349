// Fuzzes the readers of camera.toml and calibrations.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/localization_readers.hpp"

GLINT_FUZZ(glint::fuzz::toml)
