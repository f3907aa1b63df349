// Simulation of movies and ROIs with known truth (docs/explanation/theory.md, section 7).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/localizations.hpp"
#include "glint/movie.hpp"
#include "glint/progress.hpp"
#include "glint/psf.hpp"
#include "glint/rois.hpp"

namespace glint {

enum class Structure { microtubules, rings, random };

struct SimulateOptions {
    Structure structure = Structure::microtubules;
    Psf psf;  ///< sigma_nm or curve must be set
    double pixel_size_nm = 100;
    int width = 128, height = 128;  ///< px
    std::int64_t frames = 1000;
    double spots_per_frame = 10;                   ///< mean number of molecules that are on
    double photons_min = 500, photons_max = 2000;  ///< per molecule and frame, uniform
    double background = 10;                        ///< photoelectrons per pixel and frame
    double on_frames = 3;                          ///< mean on-time of a molecule, frames (geometric)
    /// Mean number of times that a molecule turns on in the movie, at the same place (eq. 7.5). 0: only once, each
    /// time is another molecule.
    double blinks = 0;
    double drift_nm =
        0;  ///< RMS distance that the sample moves along x, and along y, from the first frame to the last (eq. 7.6)
    double z_range_nm = 400;  ///< z uniform within +-range; for models whose shape depends on z
    std::uint64_t seed = 1;
    const StopFlag* stop = nullptr;  ///< set: what simulates molecules throws Cancelled
};

/// Returns a warning if z reaches beyond the range of the PSF's calibration, else an empty text.
std::string beyond_calibration(const SimulateOptions& options);

/// Generates a movie frame by frame, with its ground truth. The same options and seed give the same movie on any
/// machine, in any order and block size of reading.
class Simulation {
  public:
    /// Throws OptionError for values out of range. Counts are uint16: (e- * em noise + read noise) / gain + offset.
    Simulation(const SimulateOptions& options, const Camera& camera);
    ~Simulation();
    MovieInfo info() const;
    /// Frames [first, first + count) with their noise; thread-safe.
    void read(std::int64_t first, int count, FrameBlock& block) const;
    /// The molecules that are on in frames [first, first + count): frame, x, y, [z], photons, bg, sx, sy, and a column
    /// of each shape parameter that has its own in tables of localizations. With `blinks` also a column `molecule`,
    /// from 0. With `drift_nm` positions are the drifted ones, and columns drift_x_nm, drift_y_nm contain the drift.
    /// Throws OptionError if there is no memory for so many molecules.
    Localizations truth(std::int64_t first, std::int64_t count) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// ROIs of one model with independent noise, for accuracy checks: positions uniform within +-`spread_px` of the centre,
/// photons uniform in the range. `truth` receives the parameters in the order and units of Fits::theta. Throws
/// OptionError as fit() does for a PSF or a pixel size that is implausible.
struct RoiSimulation {
    int size = 7;
    std::size_t count = 0;
    double photons_min = 500, photons_max = 2000, background = 10, spread_px = 1.0, z_range_nm = 400;
    std::uint64_t seed = 1;
};
Rois simulate_rois(const RoiSimulation& options, const Psf& psf, double pixel_size_nm, const Camera& camera,
                   std::array<std::vector<float>, max_parameters>& truth);

}  // namespace glint
