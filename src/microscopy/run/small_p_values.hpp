// How many fits of lone spots have a small p value, which tells a PSF that is not the model's.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "glint/localizations.hpp"
#include "glint/localize.hpp"
#include "run/photon_bins.hpp"

namespace glint {

/// Counts over the rows of a run.
class SmallPValues {
  public:
    void add(const Localizations& rows);

    /// For a person: the share of small p values, the photons that are missing, and what to do. Empty if the share is
    /// about what chance gives, and no light is missing. `with_z`: whether the model's shape gives z.
    std::string warning(const LoneSpots& lone, bool with_z = false) const;

  private:
    PhotonBins lone_{}, small_{};  ///< rows of lone spots; those of them with p < 0.05
};

}  // namespace glint
