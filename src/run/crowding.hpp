// Which molecules of a run are too crowded to be told apart, by its rows.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "glint/localizations.hpp"

namespace glint {

/// Sums over the rows of a run. Rows without the column `emitters` say nothing.
class Crowding {
  public:
    void add(const Localizations& rows);

    /// That many rows are of frames where spots overlap all over, or that rows of groups are too bright to be one molecule
    /// each, with the place of the brightest; for a person. Empty when all is well.
    std::string warning() const;

  private:
    struct Row {
        std::int64_t frame = 0;
        float x_px = 0, y_px = 0, photons = 0, emitters = 0;
    };
    /// Rows by photons: eight bins an octave.
    using ByPhotons = std::array<std::int64_t, 2048>;

    std::int64_t rows_ = 0, alone_ = 0, in_large_groups_ = 0;
    ByPhotons by_photons_alone_{}, by_photons_in_groups_{};
    Row brightest_in_group_, of_largest_group_;
};

}  // namespace glint
