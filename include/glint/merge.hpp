// Several tables of localizations as one.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "glint/localizations.hpp"
#include "glint/progress.hpp"

namespace glint {

/// What the frame numbers of merged tables mean.
enum class FramesOfMerged {
    as_they_are,  ///< all tables are of the same movie, e.g. of parts of it: rows are ordered by frame
    consecutive,  ///< the movies follow one another: a table's frames count on after those of the one before
};

/// The rows of all tables, with the columns that every table has; others are named by `warn`. The history is the first
/// table's, with a step more. Throws OptionError for tables of different pixel sizes.
Localizations merge(std::span<const Localizations> tables, FramesOfMerged frames = FramesOfMerged::as_they_are,
                    const Warn& warn = {});

}  // namespace glint
