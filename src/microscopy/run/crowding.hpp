// Which molecules of a run are too crowded to be told apart, by its rows.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "glint/localizations.hpp"
#include "run/photon_bins.hpp"

namespace glint {

/// Sums over the rows of a run. Rows without the columns `emitters` and `p_single` count for nothing.
class Crowding {
  public:
    void add(const Localizations& rows);

    /// Whether frames are so dense that more than a few rows stand for several molecules. `noise`: the movie's noise over what the
    /// camera's values say, 1 or more; with too little assumed, false molecules beside true ones explain the rest.
    bool is_crowded(double noise = 1) const;
    /// For a person: how many rows stand for several molecules, what that costs, and what helps; or that rows of
    /// groups are too bright to be one molecule each, with the place of the brightest. Empty if all is well.
    std::string warning(double noise = 1) const;

  private:
    struct Row {
        std::int64_t frame = 0;
        float x_px = 0, y_px = 0, photons = 0;
    };

    double pull() const;  ///< errors over the stated ones, root mean square, expected

    std::int64_t rows_ = 0, alone_ = 0;
    double several_ = 0;    ///< rows that stand for several molecules, expected
    double variances_ = 0;  ///< squared errors of rows over the stated ones, expected
    PhotonBins by_photons_alone_{}, by_photons_in_groups_{};
    Row brightest_in_group_;
};

}  // namespace glint
