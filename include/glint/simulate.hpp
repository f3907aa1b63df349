// Simulation of movies and ROIs with known truth (docs/explanation/theory.md, section 7).
//
//     glint::SimulateOptions options;
//     options.psf.sigma_nm = 130;
//     options.frames = 100;
//     glint::Camera camera;
//     camera.offset_adu.scalar = 100;
//     const glint::Simulation simulation(options, camera);
//     glint::FrameBlock frames;
//     simulation.read(0, 100, frames);
//     glint::TiffMovieWriter writer("movie.tif", simulation.info());
//     writer.append(frames);
//     writer.close_with_truth("truth.csv", simulation.truth(0, 100));
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

/// The sample on which molecules lie.
enum class Structure {
    microtubules,
    rings,
    random,  ///< anywhere in the field
    beads    ///< a z-stack of beads: one slice a frame, always on, at fixed places
};

/// Options of Simulation.
struct SimulateOptions {
    Structure structure = Structure::microtubules;
    Psf psf;  ///< sigma_nm, curve or table must be set
    double pixel_size_nm = 100;
    int width = 128, height = 128;  ///< px
    std::int64_t frames = 1000;
    double spots_per_frame = 10;                   ///< mean number of molecules that are on; number of beads
    double photons_min = 500, photons_max = 2000;  ///< per molecule and frame, uniform; constant for each bead
    double background = 10;                        ///< photoelectrons per pixel and frame
    double on_frames = 3;                          ///< mean on-time of a molecule, frames (geometric)
    /// Mean number of times that a molecule turns on in the movie, at the same position (eq. 7.5). 0: each molecule
    /// turns on only once.
    double blinks = 0;
    /// RMS distance between the sample in the first and the last frame, along x and along y each (eq. 7.6).
    double drift_nm = 0;
    /// z uniform within +-range, for models whose shape depends on z. Beads: z of all rises from -range in the first
    /// frame to +range in the last one.
    double z_range_nm = 400;
    std::uint64_t seed = 1;
    const StopFlag* stop = nullptr;  ///< after a stop, the constructor, read() and truth() throw Cancelled
};

/// The distance of beads from each other and from the edges of the frame.
constexpr double min_bead_distance_px = 25;
constexpr int max_beads = 1000;

/// Returns a warning if z exceeds the range of the PSF's calibration, else an empty text.
std::string beyond_calibration(const SimulateOptions& options);

/// Generates a movie frame by frame, with its ground truth. The same options and seed give the same movie on every
/// machine, whatever the order and the size of the blocks that are read.
class Simulation {
  public:
    /// Throws OptionError if a value is out of range, or if the beads do not fit into the frame. Counts are uint16: (e-
    /// * em noise + read noise) / gain + offset.
    Simulation(const SimulateOptions& options, const Camera& camera);
    ~Simulation();
    MovieInfo info() const;
    /// Fills `block` with frames [first, first + count) and their noise. Thread-safe. Throws OptionError for frames
    /// beyond the movie.
    void read(std::int64_t first, int count, FrameBlock& block) const;
    /// Returns the molecules that are on in frames [first, first + count): frame, x, y, [z], photons, bg, sx, sy, and
    /// the shape parameters that tables of localizations have. With `blinks`, the column `molecule` numbers the
    /// molecules from 0. With `drift_nm`, positions include the drift, which the columns drift_x_nm and drift_y_nm
    /// contain.
    ///
    /// Throws OptionError for frames beyond the movie, or if there is too little memory for the rows.
    Localizations truth(std::int64_t first, std::int64_t count) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Options of simulate_rois(). Positions are uniform within +-`spread_px` of the centre, photons and z in their ranges.
struct RoiSimulation {
    int size = 7;
    std::size_t count = 0;
    double photons_min = 500, photons_max = 2000, background = 10, spread_px = 1.0, z_range_nm = 400;
    std::uint64_t seed = 1;
};
/// Returns ROIs of one model with independent noise, for accuracy checks. `truth` receives the parameters in the order
/// and units of Fits::theta. Throws OptionError if a value is out of range or the camera's maps are smaller than a ROI.
Rois simulate_rois(const RoiSimulation& options, const Psf& psf, double pixel_size_nm, const Camera& camera,
                   std::array<std::vector<float>, max_parameters>& truth);

}  // namespace glint
