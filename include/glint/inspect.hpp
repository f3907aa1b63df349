// What a movie tells about itself: its counts, the camera's gain and offset, and its spots (theory.md, section 11).
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

/// What is known already; the rest is estimated. Of what is known more, the rest gets smaller errors.
struct InspectOptions {
    std::optional<double> offset_adu, gain_e_per_adu;
    double readnoise_e = 0;  ///< rms, as Camera::readnoise_e; it cannot be told from the offset in a movie
    double em_gain = 1;      ///< above 1: an EMCCD, whose shot noise has twice the variance
    /// A calibrated camera, in place of the four above: gain and offset of the result are its (of maps, the medians).
    std::optional<Camera> camera;
    double sigma_px = 0;       ///< of spots; 0: estimated
    bool spots = true;         ///< false: counts and noise alone
    FrameRange frames{0, -1};  ///< read no others; end < 0: all
    Progress progress;
    const StopFlag* stop = nullptr;  ///< polled between blocks; a stop throws Cancelled
};

/// The counts of the frames that were read.
struct MovieCounts {
    std::int64_t frames = 0;                    ///< read
    std::int64_t empty_frames = 0;              ///< of these, all of one count
    std::int64_t not_finite = 0;                ///< pixels that are NaN or infinite, which no other figure is of
    std::optional<double> least_adu, most_adu;  ///< nothing where no pixel is finite, as of the background
    double saturation_adu = 0;   ///< the highest count, where it occurs so often that it is the camera's limit; else 0
    double saturated_share = 0;  ///< of the pixels, at that count
    std::string why_no_saturation;           ///< where the counts cannot tell whether they are saturated; else empty
    std::optional<Estimate> background_adu;  ///< mean over frames of their median counts; of empty ones if all are
    Estimate background_drift;  ///< last tenth of the movie less the first, ADU; error 0 where there are too few frames
};

/// The noise of pixels over their mean count. Where nothing could be estimated, `why_not` says why.
struct MovieNoise {
    std::int64_t samples = 0;
    double mean_adu = 0, variance_adu2 = 0;        ///< of a typical sample
    double least_mean_adu = 0, most_mean_adu = 0;  ///< of the mean counts that the line was fitted to
    std::optional<Estimate> gain_e_per_adu, offset_adu;
    std::string
        contradiction;  ///< that the movie's own offset is another than the one given without a gain; else empty
    std::string why_not;
};

/// Whether a gain or a width is known well enough to go on with: to a tenth of its value.
bool is_sure(const Estimate& estimate);
/// Whether an offset is: to 10 ADU, or to 10 photoelectrons of `gain_e_per_adu`.
bool is_sure_offset(const Estimate& offset_adu, double gain_e_per_adu);

/// Whether it is below 0 beyond its error, which the counts of a camera's dark pixels are not: there is read noise that was not given,
/// or the movie was filtered.
bool is_below_zero(const Estimate& offset_adu);

/// The spots in some frames.
struct MovieSpots {
    std::int64_t frames = 0, found = 0;
    int lone = 0;                      ///< spots that no other is near, which the following are from
    std::optional<Estimate> sigma_px;  ///< of the Gaussian that fits them best
    std::optional<Estimate> photons;   ///< median, photoelectrons; nothing where the gain is not known
    Estimate per_pixel;                ///< spots found, per pixel and frame
    std::vector<double>
        noise_checks;  ///< of these frames, as Detector::noise_check() with the camera that spots were looked for with
    std::string why_not;
    /// The 2D model that localizes such spots best (theory.md, section 1). `why_psf`: empty if that is the default.
    PsfModel psf = PsfModel::GaussianXYNB;
    std::string why_psf;
};

struct Inspection {
    MovieCounts counts;
    MovieNoise noise;
    MovieSpots spots;
    std::int64_t defective_pixels = 0;  ///< that localize() would leave out; spots are looked for without them
    double patterned_share = 0;         ///< of pixels, if too many stand out to be single defects; else 0
    /// Where gain and offset were known: measured noise of empty regions over that of the camera, median of the frames looked at for
    /// spots (1: its values are right); nothing where no region is empty. `contradiction`: camera_contradiction() of them;
    /// where the offset alone was known, MovieNoise::contradiction.
    std::optional<Estimate> noise_check;
    std::string contradiction;
};

/// Of a camera and a PSF, the values that the movie itself shall tell: empty, the value is known; else what an error calls it, as
/// "`gain=auto`".
struct WantedValues {
    std::string offset, gain, sigma;

    const std::string& first() const { return !offset.empty() ? offset : !gain.empty() ? gain : sigma; }
    bool any() const { return !first().empty(); }
};

/// What the movie told of them, rounded to what is used and written.
struct ToldValues {
    std::optional<Estimate> offset_adu, gain_e_per_adu, sigma_px;
    std::string text;  ///< of these, with errors, for LocalizeOptions::estimated; empty: nothing was wanted
};

/// Reads at most 1024 frames, spread over the movie in groups of eight; holds eight of them, and some 150 MB more. The estimates
/// of gain and offset follow Heintzmann et al. (arXiv:1611.05654): the variance of noise at spatial frequencies that no
/// lens transmits, over the mean count; saturated areas and empty frames are left out. The same movie gives the same result.
///
/// The offset is that of a camera with `readnoise_e`; a lower offset and a larger read noise would describe the same noise.
/// Throws InputError for a movie that cannot be read or whose end is not known yet, OptionError for values out of range.
Inspection inspect(Movie& movie, const InspectOptions& options = {});

/// Estimates what is wanted from the movie; what is not wanted is as `camera` has it (of a map the median, of read noise the rms).
/// Without a wish nothing is read. Throws OptionError where the movie does not tell a value, or too uncertainly to go on with
/// (is_sure(), is_sure_offset()), or is still being written, and as inspect() does.
ToldValues tell_values(Movie& movie, const Camera& camera, const WantedValues& wanted, const Progress& progress = {},
                       const StopFlag* stop = nullptr);

/// Which value of `camera` is likeliest wrong, for a person: "likeliest wrong: the gain (1.82 e-/ADU would fit)". `noise` is of
/// inspect() without anything known. Offset and read noise have the same effect, so that one of them may be named for the other;
/// where the movie tells no gain, more than one value may be. Empty where nothing is wrong, and for cameras with maps.
std::string likeliest_mistake(const MovieNoise& noise, const Camera& camera);

/// The camera of `options` with what was estimated; nothing where gain or offset is missing.
std::optional<Camera> estimated_camera(const Inspection& found, const InspectOptions& options);

}  // namespace glint
