// Light of lone spots that the photons of the PSF model do not include.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fit/joint/joint_fit.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// Compares each spot's light above the surrounding sky with the light of the fitted model. A PSF with wide tails has
/// more light than the model's N, and the fit counts part of it as background.
class LostLight {
  public:
    explicit LostLight(const PsfInDouble& psf) : psf_(psf) {}

    /// Adds a spot. `pixels`: a window that contains the spot's light; the known light of other spots is subtracted.
    /// `others`: spots whose tails may reach into the window.
    void add(const JointPixels& pixels, const Emitter& spot, std::span<const Emitter> others);

    /// Median over the spots, as a share of a spot's light, and its standard error.
    struct Estimate {
        double share = 0, error = 0;
    };
    /// Returns the light that N lacks; 0 for fewer than five spots.
    Estimate measure() const;

  private:
    struct Pixel {
        double light;    ///< light that the model lacks, including the sky, as a share of the spot's N
        double from_px;  ///< distance from the spot
    };
    /// The distance of a pixel from another molecule, in whole pixels.
    struct Beside {
        std::size_t pixel;
        std::size_t steps;
        double photons;  ///< the molecule's, as a share of the spot's N
    };
    struct Window {
        std::vector<Pixel> pixels;
        std::vector<Beside> beside;
        double aperture_px, sky_px;  ///< radii: the aperture is within the first, the sky beyond the second
    };
    /// Share of N per pixel, by distance in px.
    using Tail = std::vector<double>;
    static std::vector<double> light_of(const Window& window, const Tail& tail);
    Tail tail_beside(const Tail& tail) const;

    const PsfInDouble& psf_;
    std::vector<Window> windows_;
};

}  // namespace glint
