// Fuzzes the reader of CSV localizations.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/localization_readers.hpp"

GLINT_FUZZ(glint::fuzz::csv)
