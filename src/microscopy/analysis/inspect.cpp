// Reads groups of frames from all over a movie, and estimates the values that are not given.
// SPDX-License-Identifier: MIT
#include "glint/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "analysis/count_statistics.hpp"
#include "analysis/noise_line.hpp"
#include "analysis/typical_spots.hpp"
#include "base/arena.hpp"
#include "base/median.hpp"
#include "data/provenance.hpp"
#include "detect/pixel_survey.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "glint/rois.hpp"

namespace glint {
namespace {

constexpr std::int64_t max_frames = 1024, max_pixels = std::int64_t(1) << 28, min_blocks = 4;
constexpr std::int64_t max_spot_frames = 512, max_spot_pixels = std::int64_t(1) << 24;

void check(const MovieInfo& movie, const InspectOptions& options) {
    if (movie.frames == unknown_frames)
        throw InputError(fmt::format("{}: is still being written: inspect it when it is complete", movie.name));
    if (movie.frames == 0) throw InputError(fmt::format("{}: has no frames to inspect", movie.name));
    const auto in_range = [](double value, double least, double most) { return value >= least && value <= most; };
    if (options.gain_e_per_adu && !in_range(*options.gain_e_per_adu, 1e-6, 1e6))
        throw OptionError(fmt::format("a gain of {} e-/ADU: give a number greater than 0", *options.gain_e_per_adu));
    if (options.offset_adu && !in_range(*options.offset_adu, -1e6, 1e6))
        throw OptionError(fmt::format("an offset of {} ADU: give a number from -1e6 to 1e6", *options.offset_adu));
    if (!in_range(options.readnoise_e, 0, 1e6))
        throw OptionError(fmt::format("a read noise of {} e-: give 0 or more", options.readnoise_e));
    if (!in_range(options.em_gain, 1, 1e6))
        throw OptionError(fmt::format("an EM gain of {}: give 1 or more", options.em_gain));
    const FrameRange& range = options.frames;
    const std::int64_t end = range.end < 0 ? movie.frames : range.end;
    const bool is_all = range.begin == 0 && range.end < 0;
    if (!is_all && !(range.begin >= 0 && range.begin < end && end <= movie.frames))
        throw OptionError(fmt::format("frames {}:{}: {} has {}: give BEGIN:END within these frames", range.begin, end,
                                      movie.name, movie.frames));
    if (options.sigma_px != 0 && !in_range(options.sigma_px, 0.3, 8))
        throw OptionError(fmt::format("a sigma of {} px: give 0.3 to 8 px", options.sigma_px));
}

/// The frames to read: `count` blocks of `length` consecutive frames, evenly over the movie. A short movie is read
/// completely, in two blocks.
struct Blocks {
    std::int64_t count = 0, begin = 0, frames = 0;
    int length = 0;

    bool is_halves() const { return frames > noise_frames && frames < 2 * noise_frames; }
    std::int64_t first(std::int64_t k) const {
        if (is_halves()) return begin + k * (frames / 2);
        return begin + (count > 1 ? k * (frames - length) / (count - 1) : 0);
    }
    int size(std::int64_t k) const { return is_halves() && k == 1 ? int(frames - length) : length; }
    std::int64_t total() const { return is_halves() ? frames : count * length; }
};

Blocks blocks_of(const MovieInfo& movie, const FrameRange& range) {
    const std::int64_t frames = (range.end < 0 ? movie.frames : range.end) - range.begin;
    Blocks to{0, range.begin, frames, int(std::min<std::int64_t>(noise_frames, frames))};
    const std::int64_t pixels = std::int64_t(movie.width) * movie.height;
    const std::int64_t affordable = std::max(max_pixels / (pixels * to.length), min_blocks);
    to.count = std::clamp<std::int64_t>(frames / to.length, 1, std::min(max_frames / to.length, affordable));
    if (to.is_halves()) to.count = 2, to.length = int(frames / 2);
    return to;
}

bool is_copy(const FrameBlock& block, int frame) {
    return frame > 0 && std::memcmp(block.frame(frame), block.frame(frame - 1), block.frame_bytes()) == 0;
}

/// The results of the first pass.
struct Gathered {
    MovieCounts counts;
    NoiseSamples samples;
    std::vector<std::int64_t> for_spots;  ///< frames that are not empty, spread over the movie
};

void poll(const InspectOptions& options, std::int64_t done, std::int64_t total) {
    if (options.stop && options.stop->load()) throw Cancelled("stopped: nothing was estimated");
    if (options.progress) options.progress(done, total, -1);
}

Gathered gathered(Movie& movie, const Blocks& blocks, const InspectOptions& options) {
    const MovieInfo& info = movie.info();
    CountStatistics counts;
    NoiseSampler sampler(info.width, info.height, blocks.count);
    Gathered to;
    FrameBlock block;
    for (std::int64_t k = 0; k < blocks.count; ++k) {
        poll(options, k * blocks.length, blocks.total());
        movie.read(blocks.first(k), blocks.size(k), block);
        std::vector<int> use;
        for (int frame = 0; frame < block.count; ++frame)
            if (counts.add(block, frame) && !is_copy(block, frame)) use.push_back(frame);
        for (const int frame : use) to.for_spots.push_back(blocks.first(k) + frame);
        if (int(use.size()) >= min_noise_frames) sampler.add(block, use, k);
    }
    poll(options, blocks.total(), blocks.total());
    to.counts = counts.result(), to.samples = sampler.take();
    return to;
}

/// Returns a gain for which a noise of `variance_adu2` is that of a typical background. If the gain of a movie cannot
/// be estimated, its light varies little compared with the noise. The noise is then nearly the same everywhere, as with
/// such a background.
double gain_of_background(double variance_adu2, double excess, double em_gain) {
    constexpr double background_e = 100;
    return em_gain * std::sqrt(background_e * excess / variance_adu2);
}

/// Returns the camera for spot detection. If the gain is unknown, the camera has the right noise at the typical count.
Camera detecting_camera(const MovieNoise& noise, const InspectOptions& options) {
    Camera camera;
    camera.em_gain = options.em_gain;
    if (options.em_gain > 1) camera.kind = CameraKind::EMCCD;
    const double excess = camera.excess_noise();
    const double gain =
        noise.gain_e_per_adu
            ? noise.gain_e_per_adu->value
            : options.gain_e_per_adu.value_or(gain_of_background(noise.variance_adu2, excess, options.em_gain));
    // This offset turns read noise into light, which leaves the noise unchanged.
    const double zero = noise.mean_adu - noise.variance_adu2 * gain / (excess * options.em_gain);
    camera.gain_e_per_adu.scalar = float(gain), camera.offset_adu.scalar = float(zero);
    return camera;
}

/// Replaces the values by those of `options.camera`, if given.
InspectOptions with_camera(InspectOptions options) {
    if (!options.camera) return options;
    const Camera& camera = *options.camera;
    options.offset_adu = median_of(camera.offset_adu), options.gain_e_per_adu = median_of(camera.gain_e_per_adu);
    options.readnoise_e = rms_of(camera.readnoise_e), options.em_gain = camera.em_gain;
    return options;
}

/// Returns the camera if all of its values are known.
std::optional<Camera> known_camera(const InspectOptions& options) {
    if (options.camera || !options.offset_adu || !options.gain_e_per_adu) return options.camera;
    Camera camera;
    camera.offset_adu.scalar = float(*options.offset_adu),
    camera.gain_e_per_adu.scalar = float(*options.gain_e_per_adu);
    camera.readnoise_e.scalar = float(options.readnoise_e), camera.em_gain = options.em_gain;
    camera.kind = options.em_gain > 1       ? CameraKind::EMCCD
                  : options.readnoise_e > 0 ? CameraKind::SCMOS
                                            : CameraKind::Ideal;
    return camera;
}

/// Compares the noise with that of the camera. `background_adu` is the movie's background.
void check_noise(const Camera& camera, double background_adu, Inspection& to) {
    std::vector<double> known = to.spots.noise_checks;
    std::erase(known, 0.0);  // frames without information
    if (known.empty()) return;
    const double middle = median(known);
    to.noise_check = {middle, error_of_median(known, middle)};
    const double background_e = (background_adu - median_of(camera.offset_adu)) * median_of(camera.gain_e_per_adu) /
                                (camera.em_gain * median_of(camera.relative_qe));
    to.contradiction = camera_contradiction(known, &camera, background_e);
}

/// Returns the camera for spot detection, with defective pixels masked.
Camera without_defects(Movie& movie, const Camera& camera, const InspectOptions& options, Inspection& to) {
    constexpr double default_sigma_px = 1.3;
    const MovieInfo& info = movie.info();
    const FrameRange range{options.frames.begin, options.frames.end < 0 ? info.frames : options.frames.end};
    const PixelSurvey pixels =
        survey_pixels(movie, range, CameraView(camera, info.width, info.height),
                      {options.sigma_px > 0 ? options.sigma_px : default_sigma_px}, own_threads());
    to.defective_pixels = std::int64_t(pixels.defective.size()), to.patterned_share = pixels.patterned_share;
    return with_masked(camera, pixels.defective, info.width, info.height);
}

MovieSpots spots_of(Movie& movie, const std::vector<std::int64_t>& from, const MovieNoise& noise,
                    const Camera& with_values, const InspectOptions& options) {
    const MovieInfo& info = movie.info();
    const std::int64_t pixels = std::int64_t(info.width) * info.height;
    const std::int64_t frames =
        std::min({std::int64_t(from.size()), max_spot_frames, std::max<std::int64_t>(max_spot_pixels / pixels, 4)});
    const CameraView camera(with_values, info.width, info.height);
    SpotFrames read;
    FrameBlock block;
    for (std::int64_t k = 0; k < frames; ++k) {
        poll(options, k, frames);
        movie.read(from[std::size_t(k * std::int64_t(from.size()) / frames)], 1, block);
        std::vector<float> photoelectrons(std::size_t(info.width) * std::size_t(info.height));
        camera.to_photoelectrons(block.frame(0), block.type, photoelectrons);
        read.photoelectrons.push_back(std::move(photoelectrons));
    }
    MovieSpots spots = typical_spots(read, camera, options.sigma_px);
    if (!noise.gain_e_per_adu) spots.photons.reset();
    if (spots.photons)
        spots.photons->error = std::hypot(
            spots.photons->error, spots.photons->value * noise.gain_e_per_adu->error / noise.gain_e_per_adu->value);
    return spots;
}

}  // namespace

Inspection inspect(Movie& movie, const InspectOptions& given) {
    const MovieInfo& info = movie.info();
    const InspectOptions options = with_camera(given);
    const std::optional<Camera> known = known_camera(options);
    check(info, options);
    Inspection to;
    Gathered all = gathered(movie, blocks_of(info, options.frames), options);
    to.counts = all.counts;
    to.noise = noise_of(std::move(all.samples), to.counts.saturation_adu, info.type != PixelType::float32, options);
    to.contradiction = to.noise.contradiction;
    if (!options.spots) return to;
    if (to.noise.variance_adu2 > 0 && std::min(info.width, info.height) >= min_roi_size) {
        const Camera camera = without_defects(movie, known ? *known : detecting_camera(to.noise, options), options, to);
        to.spots = spots_of(movie, all.for_spots, to.noise, camera, options);
    } else
        to.spots.why_not = "the noise is not known: " + to.noise.why_not;
    if (known && to.counts.background_adu) check_noise(*known, to.counts.background_adu->value, to);
    return to;
}

bool is_sure(const Estimate& estimate) {
    constexpr double max_part = 0.1;
    return estimate.error <= max_part * std::abs(estimate.value);
}

bool is_sure_offset(const Estimate& offset_adu, double gain_e_per_adu) {
    constexpr double max_adu = 10, max_e = 10;
    return offset_adu.error <= max_adu || offset_adu.error * gain_e_per_adu <= max_e;
}

bool is_below_zero(const Estimate& offset_adu) {
    constexpr double errors = 4;
    return offset_adu.value < -errors * offset_adu.error;
}

std::optional<Camera> estimated_camera(const Inspection& found, const InspectOptions& options) {
    if (options.camera) return options.camera;
    if (!found.noise.gain_e_per_adu || !found.noise.offset_adu) return {};
    Camera camera = detecting_camera(found.noise, options);
    camera.offset_adu.scalar = float(found.noise.offset_adu->value);
    camera.readnoise_e.scalar = float(options.readnoise_e);
    if (options.readnoise_e > 0 && camera.kind == CameraKind::Ideal) camera.kind = CameraKind::SCMOS;
    return camera;
}

}  // namespace glint
