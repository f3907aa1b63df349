// Estimates from a movie: its counts, the camera's gain and offset, and its spots (theory.md, section 11).
//
//     const auto movie = glint::open_movie("movie.tif");
//     const glint::Inspection found = glint::inspect(*movie);
//     if (const auto& gain = found.noise.gain_e_per_adu)
//         std::printf("gain %.3f +- %.3f e-/ADU\n", gain->value, gain->error);
//     if (const auto& sigma = found.spots.sigma_px) std::printf("spots of sigma %.2f px\n", sigma->value);
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "glint/progress.hpp"
#include "glint/psf.hpp"

namespace glint {

/// A value with its standard error.
struct Estimate {
    double value = 0, error = 0;
};

/// Known values; inspect() estimates the remaining ones. With more known values, the estimates have smaller errors.
struct InspectOptions {
    std::optional<double> offset_adu, gain_e_per_adu;
    double readnoise_e = 0;  ///< rms, as Camera::readnoise_e; a movie cannot separate it from the offset
    double em_gain = 1;      ///< above 1: an EMCCD, whose shot noise has twice the variance
    /// A calibrated camera, instead of the four values above; the result contains its gain and offset.
    std::optional<Camera> camera;
    double sigma_px = 0;       ///< width of spots; 0: estimated
    bool spots = true;         ///< false: counts and noise alone
    FrameRange frames{0, -1};  ///< frames to read; end < 0: to the last
    Progress progress;
    const StopFlag* stop = nullptr;  ///< polled between blocks; if set, inspect() throws Cancelled
};

/// The counts of the frames that were read.
struct MovieCounts {
    std::int64_t frames = 0;                 ///< read
    std::int64_t empty_frames = 0;           ///< frames in which all pixels have the same count
    std::int64_t not_finite = 0;             ///< pixels that are NaN or infinite; all other values exclude them
    std::optional<double> min_adu, max_adu;  ///< nullopt if no pixel is finite
    double saturation_adu = 0;      ///< the highest count if it is so frequent that it is the camera's limit; else 0
    double saturated_share = 0;     ///< share of pixels at that count
    std::string why_no_saturation;  ///< why saturation cannot be detected; else empty
    /// Mean over frames of their median counts; over empty frames only if all are empty. Nullopt if no pixel is finite.
    std::optional<Estimate> background_adu;
    Estimate background_drift;  ///< last tenth of the movie minus the first, ADU; error 0 if there are too few frames
};

/// The noise of pixels as a function of their mean count. If nothing could be estimated, `why_not` contains the reason.
struct MovieNoise {
    std::int64_t samples = 0;
    double mean_adu = 0, variance_adu2 = 0;     ///< of a typical sample
    double min_mean_adu = 0, max_mean_adu = 0;  ///< range of mean counts of the line fit
    std::optional<Estimate> gain_e_per_adu, offset_adu;
    /// A message if only the offset was given and the movie's estimate contradicts it; else empty.
    std::string contradiction;
    std::string why_not;
};

/// Returns whether the standard error of a gain or a width is at most a tenth of its value.
bool is_sure(const Estimate& estimate);
/// Returns whether the standard error of an offset is at most 10 ADU, or 10 photoelectrons at `gain_e_per_adu`.
bool is_sure_offset(const Estimate& offset_adu, double gain_e_per_adu);

/// Returns whether the offset is significantly below 0. Dark pixels of a camera never are: either read noise is missing
/// from the options, or the movie was filtered.
bool is_below_zero(const Estimate& offset_adu);

/// The spots in some frames.
struct MovieSpots {
    std::int64_t frames = 0, found = 0;
    int lone = 0;                      ///< isolated spots; the values below are from these
    std::optional<Estimate> sigma_px;  ///< of the Gaussian that fits them best
    std::optional<Estimate> photons;   ///< median, photoelectrons; nullopt if the gain is unknown
    Estimate per_pixel;                ///< spots found, per pixel and frame
    /// One value per frame: Detector::noise_check() with the camera that was used to detect the spots.
    std::vector<double> noise_checks;
    std::string why_not;
    /// The 2D model that localizes such spots best (theory.md, section 1). `why_psf`: empty if that is the default.
    PsfModel psf = PsfModel::GaussianXYNB;
    std::string why_psf;
};

/// The result of inspect().
struct Inspection {
    MovieCounts counts;
    MovieNoise noise;
    MovieSpots spots;
    std::int64_t defective_pixels = 0;  ///< excluded from the detection of spots, as in localize()
    double patterned_share = 0;         ///< share of deviating pixels, if too many to be single defects; else 0
    /// Noise of empty regions, measured / expected from the camera: the median over the frames of the spot detection.
    /// 1 if the camera's values are correct. Nullopt if gain or offset is unknown, or if no region is empty.
    std::optional<Estimate> noise_check;
    /// camera_contradiction() of the noise check; MovieNoise::contradiction if only the offset was known.
    std::string contradiction;
};

/// Parameters of camera and PSF to estimate from the movie. Empty: the value is known. Otherwise the text is the name
/// of the option in errors, such as "`gain=auto`".
struct WantedParameters {
    std::string offset, gain, sigma;

    /// Returns the name of the first wanted parameter; empty if there is none.
    const std::string& first() const { return !offset.empty() ? offset : !gain.empty() ? gain : sigma; }
    bool any() const { return !first().empty(); }
};

/// Parameters estimated from the movie, with the rounding of their use and of files.
struct EstimatedParameters {
    std::optional<Estimate> offset_adu, gain_e_per_adu, sigma_px;
    std::string text;  ///< the estimates with errors, for LocalizeOptions::estimated; empty if nothing was wanted
};

/// Estimates the counts, the noise and the spots of a movie. Reads at most 1024 frames, spread over the movie in groups
/// of eight. Needs about 150 MB of memory besides eight frames. Results are deterministic.
///
/// Gain and offset follow Heintzmann et al. (arXiv:1611.05654): a line is fitted to the variance of the noise over the
/// mean count. The noise is taken at spatial frequencies that no lens transmits. Saturated areas and empty frames are
/// excluded. The offset is valid for a camera with `readnoise_e`: a lower offset with a larger read noise would
/// describe the same noise.
///
/// Returns the estimates with their standard errors. Throws
/// - InputError if the movie cannot be read, has no frames, or is still being written
/// - OptionError if a value is out of range
/// - Cancelled after a stop
Inspection inspect(Movie& movie, const InspectOptions& options = {});

/// Returns the wanted parameters, estimated from the movie. The known parameters come from the camera; for maps, their
/// medians or, for read noise, the rms. Reads nothing if nothing is wanted. Throws as inspect(), and OptionError if
/// - the movie does not determine a wanted value,
/// - its error is too large (is_sure(), is_sure_offset()), or
/// - the movie is still being written.
EstimatedParameters estimate_parameters(Movie& movie, const Camera& camera, const WantedParameters& wanted,
                                        const Progress& progress = {}, const StopFlag* stop = nullptr);

/// Returns which value of `camera` is most probably wrong, as a text: "likeliest wrong: the gain (1.82 e-/ADU would
/// fit)". Empty if no value is wrong, or if the camera has maps. `noise` is from inspect() without known values.
/// Offset and read noise have the same effect, so the text may name the wrong one of the two. Without an estimate of
/// the gain, the text may name several values.
std::string find_wrong_camera_value(const MovieNoise& noise, const Camera& camera);

/// Returns the camera of `options` with the estimates of `found`; nullopt if gain or offset is unknown.
std::optional<Camera> estimated_camera(const Inspection& found, const InspectOptions& options);

}  // namespace glint
