// Computes totals and warnings, and writes the file.
// SPDX-License-Identifier: MIT
#include "run/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/arena.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "io/files/check_outputs.hpp"
#include "pipeline/frame_checks.hpp"
#include "pipeline/line_noise.hpp"
#include "pipeline/lone_spots.hpp"
#include "pipeline/static_background.hpp"
#include "run/settings.hpp"

namespace glint {

namespace fs = std::filesystem;

namespace {

/// The background of a frame from the middle of the movie, in photoelectrons per pixel, and whether half of its pixels
/// have the same lowest value, which camera noise cannot cause. 0 and false if the frame cannot be read.
struct FrameLight {
    double background_e = 0;
    bool is_clipped = false;
};
FrameLight light_of(Movie& movie, const Camera& camera) {
    const MovieInfo& info = movie.info();
    FrameBlock block;
    try {
        movie.read(std::max<std::int64_t>(info.frames, 0) / 2, 1, block);
    } catch (const InputError&) {
        return {};
    }
    std::vector<float> photoelectrons(std::size_t(info.width) * std::size_t(info.height));
    CameraView(camera, info.width, info.height).to_photoelectrons(block.frame(0), block.type, photoelectrons);
    std::erase_if(photoelectrons, [](float e) { return std::isnan(e); });
    if (photoelectrons.empty()) return {};
    const double middle = median(photoelectrons);
    const auto [least, most] = std::minmax_element(photoelectrons.begin(), photoelectrons.end());
    return {middle, !camera.has_maps() && middle == *least && *least < *most};
}

/// Returns a warning if the given PSF is far from the movie's, as shown by lone spots or by the number of fits that
/// left their spots. Otherwise empty.
std::string psf_warning(const Totals& totals, const LocalizeJob& job) {
    constexpr std::int64_t enough = 20;
    if (const std::string advice = width_advice(job.lone, job.options.psf); !advice.empty()) return advice;
    const std::int64_t fits = totals.counts.spots + totals.counts.added - totals.counts.merged;
    if (fits < enough || 2 * totals.counts.wandered <= fits) return "";
    return fmt::format(
        "{} of {} fits left the spots that they began at: check the PSF's width (`sigma`), which is a standard "
        "deviation "
        "and not the full width at half maximum, and the camera's values",
        totals.counts.wandered, fits);
}

/// Returns warnings about faults of the camera's pixels and how they were handled.
std::vector<std::string> pixel_warnings(const Totals& totals, const LocalizeJob& job) {
    constexpr double max_hits = 0.01;  // of all molecules
    const BlockCounts& counts = totals.counts;
    const PixelSurvey& pixels = job.pixels;
    std::vector<std::string> warnings;
    const auto share = [](std::int64_t part, std::int64_t all) {
        return 100 * double(part) / double(std::max<std::int64_t>(all, 1));
    };
    if (!pixels.defective.empty())
        warnings.push_back(fmt::format(
            "{} of {} pixels are brighter or darker than those around them in most frames, which no lens can cause: "
            "they count as defective and were left out. `glint calibrate camera` measures all pixels; "
            "`keep_defective` uses these",
            pixels.defective.size(), std::int64_t(job.camera.width()) * job.camera.height()));
    if (pixels.patterned_share > 0)
        warnings.push_back(fmt::format(
            "{:.2g} % of the pixels differ from those around them in the same way in most frames, which no lens can "
            "cause: this pattern may lead to false localizations. Measure the camera's pixels with `glint calibrate "
            "camera`",
            100 * pixels.patterned_share));
    if (double(counts.hits) > max_hits * double(totals.rows))
        warnings.push_back(fmt::format(
            "{} spots beside {} localizations were hits of a single pixel in one frame (cosmic rays, flickering "
            "pixels) and were left out; `keep_defective` uses them",
            counts.hits, totals.rows));
    if (counts.saturated > 0)
        warnings.push_back(fmt::format(
            "{} of {} spots ({:.3g} %) have pixels that saturate at {:g} ADU. These pixels have no part in the fits; "
            "{} localizations have more than half of their light there, and their photons are uncertain (column "
            "status is {}). Record with less light, a shorter exposure or a lower gain",
            counts.saturated, counts.spots, share(counts.saturated, counts.spots), pixels.saturation_adu,
            counts.mostly_saturated, int(FitStatus::saturated)));
    return warnings;
}

/// Faults that make other measures of noise, spots and neighbours meaningless. The other warnings are suppressed then.
struct Causes {
    bool zero_border = false, pattern = false, below_offset = false, saturation = false;
    bool any() const { return zero_border || pattern || below_offset || saturation; }
};
Causes causes_of(const Totals& totals, const FrameChecks& checks) {
    constexpr double many_frames = 0.05;
    Causes causes;
    causes.zero_border = double(totals.counts.zero_border_frames) > many_frames * double(totals.frames);
    causes.pattern = checks.is_patterned();
    causes.below_offset = !offset_warning(checks).empty();
    causes.saturation = checks.is_saturated();
    return causes;
}

std::vector<double> known_spreads(const Totals& totals) {
    std::vector<double> known = totals.spreads;
    std::erase(known, 0.0);  // frames without information
    return known;
}

/// Returns the noise divided by the noise that the camera's values predict; 0 if it is unknown.
double noise_ratio(const Totals& totals) {
    std::vector<double> known = known_spreads(totals);
    return known.empty() ? 0 : median(known);
}

/// Returns a warning that the noise contradicts the camera's values, if no other cause is known. Otherwise empty.
std::string noise_warning(const Totals& totals, const FrameChecks& checks, const Causes& causes, Movie& movie,
                          const Camera& camera, const LocalizeJob& job) {
    if (camera_contradiction(totals.spreads).empty() || causes.zero_border || causes.below_offset) return "";
    // The light varies within the tiles of the noise check. Pixel by pixel, its noise may still be right.
    constexpr double max_off = 0.1;
    if (job.known_light && std::abs(checks.noise_ratio - 1) < max_off) return "";
    std::vector<double> without_pattern = totals.spreads;
    for (double& spread : without_pattern) spread *= std::sqrt(1 - checks.pattern_part());
    if (camera_contradiction(without_pattern).empty()) return "";
    const FrameLight light = light_of(movie, camera);
    return camera_contradiction(totals.spreads, &camera, light.background_e) +
           (light.is_clipped ? ". Half of the pixels of a frame have its least count: was a background subtracted from "
                               "the movie, and what is below it cut off? glint needs the camera's own counts"
                             : "");
}

std::string why_no_rows(const Totals& totals, const FrameChecks& checks) {
    if (const std::string text = saturation_warning(checks); !text.empty()) return "no localizations: " + text;
    if (totals.counts.spots == 0)
        return "no localizations: no spot reached the detection threshold: check the offset, the gain and the "
               "PSF's width (`sigma`) with `preview=0`, or lower `threshold`";
    return fmt::format(
        "no localizations: of {} spots no fit converged near its spot. Check the PSF's width (`sigma`) and the "
        "camera's "
        "values; `keep_failed` keeps these fits",
        totals.counts.spots);
}

}  // namespace

void fill_result(LocalizeResult& result, const Totals& totals, const LocalizeJob& job) {
    result.frames = totals.frames;
    result.localizations = totals.rows;
    result.spots = totals.counts.spots;
    result.added = totals.counts.added;
    result.merged = totals.counts.merged;
    result.molecules = result.spots + result.added - result.merged;
    result.not_converged = totals.counts.not_converged;
    result.left_spot = totals.counts.wandered;
    result.duplicates = totals.counts.duplicates;
    result.at_bound = totals.counts.at_bound;
    result.bad_pixels = totals.counts.bad_pixels;
    result.defective_pixels = std::int64_t(job.pixels.defective.size());
    result.masked_pixels = std::int64_t(job.camera.masked_pixels()) - result.defective_pixels;
    result.saturation_adu = job.pixels.saturation_adu;
    result.lone = job.lone, result.background = job.background;
    result.hits = totals.counts.hits;
    result.saturated_spots = totals.counts.saturated, result.mostly_saturated = totals.counts.mostly_saturated;
    result.zero_border_frames = totals.counts.zero_border_frames;
    const std::vector<double> known = known_spreads(totals);
    result.noise_check = noise_ratio(totals);
    result.noise_check_error = error_of_median(known, result.noise_check);
}

void check_output(const fs::path& out, const LocalizeOptions& options, const MovieInfo& movie) {
    check_localizations_output(out, options.overwrite ? IfExists::replace : IfExists::refuse, movie.files);
}

void check_partial(const fs::path& out, IfExists if_exists, const MovieInfo& movie) {
    check_localizations_output(partial_path(out), if_exists, movie.files);
}

void write_rows(LocalizeResult& result, const EachBlock& each, const LocalizeJob& job, const Fingerprint& fingerprint,
                IfExists if_exists) {
    Localizations like = job.like;
    like.history.back() += settings_text(fingerprint);
    LocalizationWriter writer(result.written, like, std::size_t(result.localizations), job.options.warn, if_exists);
    in_arena_of(job.threads, [&] {
        each([&](BlockResult block) {
            if (block.rows.size() > 0) writer.append(block.rows);
        });
        writer.close();
    });
    result.hidden_rows = std::int64_t(writer.hidden_rows());
}

void remove_partial(const fs::path& out, const Warn& warn) {
    for (const fs::path& path : files_of_localizations(partial_path(out))) remove_or_warn(path, warn);
}

void remove_or_warn(const fs::path& path, const Warn& warn) {
    std::error_code failed;
    fs::remove(path, failed);
    if (failed && warn)
        warn(fmt::format("{} is no longer needed and cannot be removed ({}): remove it by hand", path.string(),
                         failed.message()));
}

void warn_about(const Totals& totals, Movie& movie, const Camera& camera, const LocalizeJob& job) {
    if (!job.options.warn) return;
    const auto warn = [&](const std::string& text) {
        if (!text.empty()) job.options.warn(fmt::format("{}: {}", movie.info().name, text));
    };
    const MovieInfo& info = movie.info();
    const FrameChecks checks = check_frames(movie, job, totals.frames);
    const Causes causes = causes_of(totals, checks);
    const std::string of_noise = noise_warning(totals, checks, causes, movie, camera, job);
    const double noise = of_noise.empty() ? 1 : std::max(1.0, noise_ratio(totals));
    if (!of_noise.empty())
        job.options.warn(of_noise + (totals.crowding.is_crowded() && !totals.crowding.is_crowded(noise)
                                         ? ". Whether frames are crowded can only be assessed after that"
                                         : ""));
    if (totals.frames > 0 && totals.counts.bad_pixels == totals.frames * info.width * info.height)
        return warn(fmt::format(
            "no localizations: all pixels of the {} frames are missing (not a number or infinite): was the movie "
            "converted or registered wrongly?",
            totals.frames));
    if (totals.rows == 0 && totals.frames > 0)
        warn(why_no_rows(totals, checks));
    else if (!causes.any())
        warn(psf_warning(totals, job));
    warn(totals.outside.warning());
    warn(z_bound_warning(job.options.psf, totals.counts.at_bound, totals.rows));
    if (!causes.any()) {
        if (totals.rows > 0) warn(disagreement_of(job.lone, job.options.psf));
        const std::string crowding = totals.crowding.warning(noise);
        const std::string is_static = totals.crowding.is_crowded(noise)
                                          ? static_spots_warning(static_spots(movie, job, totals.frames), totals.frames)
                                          : "";
        const std::string repeated = totals.repeated.warning(totals.frames);
        warn(totals.p_values.warning(job.lone, describe(job.options.psf.model).has_z));
        warn(!is_static.empty() ? is_static : !repeated.empty() ? repeated : crowding);
        warn(totals.pairs.warning());
        warn(background_warning(job.background));
    }
    warn(line_noise_warning(measure_line_noise(movie, job, totals.frames), detect_options(job).filter.width_px));
    if (totals.rows > 0 && causes.saturation) warn(saturation_warning(checks));
    if (!causes.zero_border) warn(pattern_warning(checks)), warn(offset_warning(checks));
    warn(rounded_counts_warning(checks));
    for (const std::string& text : pixel_warnings(totals, job)) warn(text);
    if (totals.counts.bad_pixels > 0)
        warn(
            fmt::format("{} pixels were not a number or infinite; they were left out, as those beyond the frame's edge "
                        "are",
                        totals.counts.bad_pixels));
    if (totals.counts.zero_border_frames > 0)
        warn(fmt::format(
            "{} of {} frames, the first of them {}, have a border of zeros, as registration leaves it: its edges "
            "make false localizations. Localize the movie as it was before, or save it as 32-bit floating-point TIFF "
            "with NaN for those pixels, which are left out then{}",
            totals.counts.zero_border_frames, totals.frames, totals.counts.first_zero_border,
            causes.zero_border ? ". Noise, p values and crowding can only be assessed after that" : ""));
}

void warn_before(const MovieInfo& movie, const Camera& camera, const Warn& warn) {
    if (!warn) return;
    for (const std::string& text : movie.warnings) warn(text);
    for (const std::string& text : camera_warnings(camera)) warn(text);
}

}  // namespace glint
