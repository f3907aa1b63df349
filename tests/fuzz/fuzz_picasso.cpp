// Fuzzes the reader of Picasso localizations with columns, types and metadata of any kind.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/localization_readers.hpp"

GLINT_FUZZ(glint::fuzz::picasso)
