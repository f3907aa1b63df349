// Light of lone spots that the PSF model's photons do not contain.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "fit/joint/joint_fit.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// Compares each spot's light above the rim of its window with that of the fitted model. A PSF with wide tails has more
/// light than the model's N, and the fit counts a part of it as background.
class LostLight {
  public:
    explicit LostLight(const PsfInDouble& psf) : psf_(psf) {}

    /// `pixels`: a window that holds the spot's light; the known light of other spots is subtracted.
    void add(const JointPixels& pixels, const Emitter& spot);

    /// Median share of the spots' light that N lacks, and its standard error; 0 for fewer than five spots.
    double share() const;
    double error() const;

  private:
    const PsfInDouble& psf_;
    std::vector<double> excess_;  ///< light beyond the model's, as a share of N
};

}  // namespace glint
