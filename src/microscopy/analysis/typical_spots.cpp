// Detects spots, selects lone spots and fits free widths. Repeats with the measured width.
// SPDX-License-Identifier: MIT
#include "analysis/typical_spots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <utility>

#include "base/median.hpp"
#include "fit/width_peak.hpp"
#include "glint/detect.hpp"
#include "glint/fit.hpp"

namespace glint {
namespace {

constexpr double first_sigma_px = 1.3, narrowest_px = 0.5, widest_px = 5;
constexpr std::size_t min_spots = 20, enough_spots = 80;
constexpr double half_edge_sigmas = 3;  // of the fitted window
/// Minimum distance of another spot from the window's edge. The smaller value is for crowded frames.
constexpr double far_apart_sigmas = 2, near_apart_sigmas = 0.5;
constexpr double model_part = 0.001;           // relative error of a width even with many bright spots
constexpr double reach_of_overlaps = 2;        // in widths; a closer molecule may not be detected
constexpr double overlap_factor = 10;          // error per share of overlaps, in units of the bias of dim spots
constexpr double error_reach = 3;              // standard errors of a fit
constexpr double noise_of_wrong_camera = 1.5;  // times the noise of the camera's values
constexpr double max_astigmatism = 0.2;        // of log(sx / sy); it is 0.3 at 300 nm from focus

struct LoneFits {
    std::vector<double> sigma_px, sigma_error_px;  ///< of the brighter half, which includes the narrow spots
    std::vector<double> all_sigma_px, all_sigma_error_px, photons;
};

int window_px(double sigma_px, const CameraView& camera) {
    const int wanted = std::max(7, 2 * int(std::ceil(half_edge_sigmas * sigma_px)) + 1);
    return std::min({wanted, max_roi_size, camera.width(), camera.height()});
}

/// Returns whether the window lies in the frame, and no other spot lies in it or close to it.
bool is_lone(const Spots& spots, std::size_t k, int window, int apart, const CameraView& camera) {
    const int half = window / 2;
    if (spots.x[k] < half || spots.y[k] < half || spots.x[k] + half >= camera.width() ||
        spots.y[k] + half >= camera.height())
        return false;
    for (std::size_t other = 0; other < spots.count(); ++other)
        if (other != k && std::abs(spots.x[other] - spots.x[k]) <= half + apart &&
            std::abs(spots.y[other] - spots.y[k]) <= half + apart)
            return false;
    return true;
}

/// All spots of the frames, and windows around the lone ones.
struct Detected {
    std::vector<std::int64_t> found;  ///< per frame
    Rois lone;
    std::vector<float> score;  ///< of the lone spots
    std::vector<double> noise_checks;
};

Detected detect(const SpotFrames& frames, const CameraView& camera, double sigma_px, double apart_sigmas) {
    const int window = window_px(sigma_px, camera);
    Detected to{{}, make_rois(camera, window), {}, {}};
    Detector detector(camera, {.filter = {sigma_px}});
    Spots spots;
    for (std::size_t frame = 0; frame < frames.photoelectrons.size(); ++frame) {
        detector.find(frames.photoelectrons[frame], spots);
        to.found.push_back(std::int64_t(spots.count()));
        to.noise_checks.push_back(detector.noise_check());
        Spots lone;
        for (std::size_t k = 0; k < spots.count(); ++k) {
            if (!is_lone(spots, k, window, int(std::ceil(apart_sigmas * sigma_px)), camera)) continue;
            lone.x.push_back(spots.x[k]), lone.y.push_back(spots.y[k]), lone.score.push_back(spots.score[k]);
            to.score.push_back(spots.score[k]);
        }
        cut_rois(frames.photoelectrons[frame], camera, lone, std::uint32_t(frame), to.lone);
    }
    return to;
}

/// Returns the fits of lone spots that converged. If there are enough, only the brighter half contributes widths, since
/// those of dim spots are uncertain.
LoneFits fitted(const Detected& detected, double sigma_px) {
    const Psf psf{PsfModel::GaussianXYNBS, 1000 * sigma_px, {}, {}};
    FitOptions options;
    options.backend = Backend::cpu;
    const Fits fits = fit(detected.lone, psf, 1000, options);  // 1 px is 1000 nm, as for `psf`
    LoneFits to;
    const std::vector<double> scores(detected.score.begin(), detected.score.end());
    const double bright = scores.size() < enough_spots ? 0 : median(scores);
    for (std::size_t k = 0; k < fits.count(); ++k) {
        if (fits.status[k] != FitStatus::converged) continue;
        to.photons.push_back(double(fits.theta[2][k]));
        to.all_sigma_px.push_back(double(fits.theta[4][k])), to.all_sigma_error_px.push_back(double(fits.crlb[4][k]));
        if (scores[k] < bright) continue;
        to.sigma_px.push_back(double(fits.theta[4][k])), to.sigma_error_px.push_back(double(fits.crlb[4][k]));
    }
    return to;
}

Estimate median_of(const std::vector<double>& values) {
    const double middle = median(values);
    return {middle, error_of_median(values, middle)};
}

/// Returns the width of single molecules, from the peak of the widths. The peak is at least as wide as the errors of
/// the fits, because a narrow peak of few widths is mostly chance. Dim spots are detected preferentially if noise makes
/// them sharp. The resulting bias is about the squared error of a width over the width. It is corrected, and half of it
/// is added to the error. In dim or dense movies, more overlaps pass for single molecules, which adds to the error,
/// too.
Estimate width_of(const LoneFits& fits, double per_pixel) {
    const WidthPeak peak = peak_of(fits.sigma_px);
    const double error = median(fits.sigma_error_px), reach = std::max(peak.reach(), error_reach * error);
    std::vector<double> singles;
    for (const double width : fits.sigma_px)
        if (std::abs(width - peak.middle()) <= reach) singles.push_back(width);
    Estimate to = median_of(singles);
    const double too_sharp = error * error / to.value;
    const double others = per_pixel * std::numbers::pi * std::pow(reach_of_overlaps * to.value, 2);
    to.error = std::hypot(to.error, model_part * to.value, std::hypot(0.5, overlap_factor * others) * too_sharp);
    to.value += too_sharp;
    return to;
}

Estimate density_of(const std::vector<std::int64_t>& found, const CameraView& camera) {
    const double n = double(found.size()), pixels = double(camera.width()) * camera.height();
    double sum = 0, square = 0;
    for (const std::int64_t spots : found) sum += double(spots);
    const double mean = sum / n;
    for (const std::int64_t spots : found) square += std::pow(double(spots) - mean, 2);
    return {mean / pixels, n > 1 ? std::sqrt(square / (n - 1) / n) / pixels : 0};
}

/// Returns whether the lone spots of crowded frames have many different widths. Most of them are then several
/// molecules.
bool are_mixed(const LoneFits& fits, const MovieSpots& spots) {
    constexpr double max_errors = 4;
    if (2 * std::int64_t(spots.lone) >= spots.found) return false;
    return peak_of(fits.sigma_px).deviation() > max_errors * median(fits.sigma_error_px);
}

/// Returns how much the widths of lone spots along x and y differ beyond their errors, as the standard deviation of
/// log(sx / sy). An astigmatic lens causes this if molecules lie at many depths. Returns 0 if most spots are round; a
/// few pairs of molecules do not count. Errors come from the camera model and grow with `noise`, the measured noise
/// over the model's. A tenfold gain is therefore not mistaken for a lens.
double astigmatism_of(const Rois& lone, double sigma_px, double noise) {
    // The median of absolute values, and a multiple of what the errors alone would give.
    constexpr double of_a_normal = 0.6745, clear = 2;
    FitOptions options;
    options.backend = Backend::cpu;
    const Fits fits = fit(lone, Psf{PsfModel::GaussianXYNBSXSY, 1000 * sigma_px, {}, {}}, 1000, options);
    std::vector<double> unequal, errors;
    for (std::size_t k = 0; k < fits.count(); ++k) {
        if (fits.status[k] != FitStatus::converged) continue;
        const double x = double(fits.theta[4][k]), y = double(fits.theta[5][k]);
        unequal.push_back(std::abs(std::log(x / y)));
        errors.push_back(std::hypot(double(fits.crlb[4][k]) / x, double(fits.crlb[5][k]) / y));
    }
    if (unequal.size() < min_spots) return 0;
    const double all = median(unequal) / of_a_normal, error = std::max(1.0, noise) * median(errors);
    return all > clear * error ? std::sqrt(all * all - error * error) : 0;
}

/// Sets the recommended model, based on measurements on lenses (theory.md, section 1). Recommends free widths if spots
/// differ and most are lone. In crowds, free widths hide pairs, and only strong astigmatism outweighs that.
void recommend_psf(const LoneFits& fits, double astigmatism, double sigma_px, MovieSpots& to) {
    constexpr double strong_astigmatism = 0.4;
    const bool crowded = 2 * std::int64_t(to.lone) < to.found;
    if (astigmatism > (crowded ? strong_astigmatism : max_astigmatism)) {
        to.psf = PsfModel::GaussianXYNBSXSY;
        to.why_psf = fmt::format("the widths of spots along x and y differ by {:.0f} %; z needs `calibration`",
                                 100 * astigmatism);
        return;
    }
    if (crowded) return;
    const double wider = wider_share(fits.all_sigma_px, fits.all_sigma_error_px, peak_of(fits.sigma_px));
    if (!has_wide_molecules(wider, share_of_pairs(to.per_pixel.value, sigma_px))) return;
    to.psf = PsfModel::GaussianXYNBS;
    to.why_psf =
        fmt::format("{:.0f} % of the lone spots are wider than the rest, more than pairs explain", 100 * wider);
}

/// Detects and fits spots of this width.
MovieSpots spots_at(const SpotFrames& frames, const CameraView& camera, double sigma) {
    Detected detected = detect(frames, camera, sigma, far_apart_sigmas);
    LoneFits fits = fitted(detected, sigma);
    if (fits.sigma_px.size() < min_spots) {
        detected = detect(frames, camera, sigma, near_apart_sigmas);
        fits = fitted(detected, sigma);
    }
    MovieSpots to;
    to.frames = std::int64_t(frames.photoelectrons.size());
    for (const std::int64_t spots : detected.found) to.found += spots;
    to.lone = int(detected.lone.count());
    to.per_pixel = density_of(detected.found, camera);
    to.noise_checks = detected.noise_checks;
    if (fits.sigma_px.size() < min_spots) {
        to.why_not = fmt::format("only {} of {} spots in {} frames have no other near, but {} are needed",
                                 fits.sigma_px.size(), to.found, to.frames, min_spots);
        return to;
    }
    if (are_mixed(fits, to)) {
        to.why_not = fmt::format(
            "frames are crowded, and the widths of the {} spots that have no other near differ widely", to.lone);
        return to;
    }
    const double noise = median(detected.noise_checks), unequal = astigmatism_of(detected.lone, sigma, noise);
    const bool wrong_camera = noise > noise_of_wrong_camera;
    if (!wrong_camera) recommend_psf(fits, unequal, sigma, to);
    if (unequal > max_astigmatism)
        to.why_not = fmt::format(
            "the widths of spots along x and y differ by {:.0f} %, as with an astigmatic lens, so no single width fits "
            "them{}",
            100 * unequal,
            wrong_camera ? fmt::format("; or the gain is too large, since noise is {:.2g} times the camera's", noise)
                         : "");
    else
        to.sigma_px = width_of(fits, to.per_pixel.value), to.photons = median_of(fits.photons);
    return to;
}

}  // namespace

MovieSpots typical_spots(const SpotFrames& frames, const CameraView& camera, double sigma_px) {
    constexpr int max_rounds = 5;
    constexpr double same = 0.02;
    double sigma = sigma_px > 0 ? sigma_px : first_sigma_px;
    MovieSpots to;
    for (int round = 0; round < max_rounds; ++round) {
        to = spots_at(frames, camera, sigma);
        if (!to.sigma_px) return to;
        const double next = std::clamp(to.sigma_px->value, narrowest_px, widest_px);
        if (sigma_px > 0 || std::abs(next / sigma - 1) < same) return to;
        sigma = next;
    }
    return to;
}

}  // namespace glint
