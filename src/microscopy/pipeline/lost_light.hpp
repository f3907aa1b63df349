// Light of lone spots that the PSF model's photons do not contain.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fit/joint/joint_fit.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// Compares each spot's light above the sky around it with that of the fitted model. A PSF with wide tails has more
/// light than the model's N, and the fit counts a part of it as background.
class LostLight {
  public:
    explicit LostLight(const PsfInDouble& psf) : psf_(psf) {}

    /// `pixels`: a window that holds the spot's light; the known light of other spots is subtracted. `others`: those
    /// whose tails may reach into the window.
    void add(const JointPixels& pixels, const Emitter& spot, std::span<const Emitter> others);

    /// A median over the spots, as a share of their light, and its standard error.
    struct Estimate {
        double share = 0, error = 0;
    };
    /// What N lacks; 0 for fewer than five spots.
    Estimate measure() const;

  private:
    struct Pixel {
        double light;    ///< beyond the model's, with the sky, as a share of the spot's N
        double from_px;  ///< from the spot
    };
    /// A pixel's distance from another molecule, in whole pixels.
    struct Beside {
        std::size_t pixel;
        std::size_t steps;
        double photons;  ///< the molecule's, as a share of the spot's N
    };
    struct Window {
        std::vector<Pixel> pixels;
        std::vector<Beside> beside;
        double aperture_px, sky_px;  ///< radii: within the first, beyond the second
    };
    /// A tail has a share of N for each pixel of distance.
    using Tail = std::vector<double>;
    static std::vector<double> light_of(const Window& window, const Tail& tail);
    Tail tail_beside(const Tail& tail) const;

    const PsfInDouble& psf_;
    std::vector<Window> windows_;
};

}  // namespace glint
