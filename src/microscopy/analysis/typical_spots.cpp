// Detects, picks lone spots, fits free widths, and repeats with the width found.
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
constexpr std::size_t least_spots = 20, enough_spots = 80;
constexpr double half_edge_sigmas = 3;  // of the fitted window
/// How far another spot must be from the window's edge; the less where frames are crowded.
constexpr double far_apart_sigmas = 2, near_apart_sigmas = 0.5;
constexpr double model_part = 0.001;           // relative error of a width that many bright spots leave
constexpr double reach_of_overlaps = 2;        // widths: a molecule nearer than that may not be seen
constexpr double overlap_factor = 10;          // of their share, to the widths' bias in units of that of dim spots
constexpr double error_reach = 3;              // standard errors of a fit
constexpr double noise_of_wrong_camera = 1.5;  // over that of its values
constexpr double most_astigmatism = 0.2;       // of log(sx / sy); 300 nm from focus are 0.3

struct LoneFits {
    std::vector<double> sigma_px, sigma_error_px;  ///< of the brighter half, which narrow spots are among
    std::vector<double> all_sigma_px, all_sigma_error_px, photons;
};

int window_px(double sigma_px, const CameraView& camera) {
    const int wanted = std::max(7, 2 * int(std::ceil(half_edge_sigmas * sigma_px)) + 1);
    return std::min({wanted, max_roi_size, camera.width(), camera.height()});
}

/// Whether the window lies in the frame and no other spot in it or close to it.
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
    std::vector<float> score;  ///< of the lone ones
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

/// Fits of lone spots that converged; where there are enough, widths of the brighter half alone: those of dim ones are uncertain.
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

/// Of those that have the width of single molecules: a peak as wide as the fits' errors at least, for where a quarter of a few
/// widths are closest together is mostly chance. Dim spots are found where noise makes them sharp, from which comes a bias of the order of
/// the squared error of a width over the width; it is taken out, and half of it stands in the error. The dimmer the spots and the more molecules there
/// are a pixel, the more overlaps are taken for single ones.
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

/// Whether the lone spots of crowded frames are of many widths: then most are several molecules.
bool are_mixed(const LoneFits& fits, const MovieSpots& spots) {
    constexpr double most_errors = 4;
    if (2 * std::int64_t(spots.lone) >= spots.found) return false;
    return peak_of(fits.sigma_px).deviation() > most_errors * median(fits.sigma_error_px);
}

/// How unequal the widths of lone spots are along x and y beyond their errors: standard deviation of log(sx / sy), as it comes from
/// an astigmatic lens and molecules at many depths; 0 where most are round. The few that are two molecules do not count. Errors are those of
/// the camera model, and grow with `noise`, the measured one over the model's: a gain that is given ten times too large is no lens.
double astigmatism_of(const Rois& lone, double sigma_px, double noise) {
    constexpr double of_a_normal = 0.6745,
                     clear = 2;  // median of absolute values; times what the errors alone would give
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
    if (unequal.size() < least_spots) return 0;
    const double all = median(unequal) / of_a_normal, error = std::max(1.0, noise) * median(errors);
    return all > clear * error ? std::sqrt(all * all - error * error) : 0;
}

/// Sets the model to recommend, by measurements on lenses (theory.md, section 1): free widths if spots differ and most are
/// lone. In crowds free widths hide pairs, and only strong astigmatism outweighs that.
void recommend_psf(const LoneFits& fits, double astigmatism, double sigma_px, MovieSpots& to) {
    constexpr double strong_astigmatism = 0.4;
    const bool crowded = 2 * std::int64_t(to.lone) < to.found;
    if (astigmatism > (crowded ? strong_astigmatism : most_astigmatism)) {
        to.psf = PsfModel::GaussianXYNBSXSY;
        to.why_psf =
            fmt::format("along x and y spots differ in width by {:.0f} %; z needs `calibration`", 100 * astigmatism);
        return;
    }
    if (crowded) return;
    const double wider = wider_share(fits.all_sigma_px, fits.all_sigma_error_px, peak_of(fits.sigma_px));
    if (!has_wide_molecules(wider, share_of_pairs(to.per_pixel.value, sigma_px))) return;
    to.psf = PsfModel::GaussianXYNBS;
    to.why_psf = fmt::format("{:.0f} % of the lone spots are wider than the others, more than pairs are", 100 * wider);
}

/// With detection for spots of this width.
MovieSpots spots_at(const SpotFrames& frames, const CameraView& camera, double sigma) {
    Detected detected = detect(frames, camera, sigma, far_apart_sigmas);
    LoneFits fits = fitted(detected, sigma);
    if (fits.sigma_px.size() < least_spots) {
        detected = detect(frames, camera, sigma, near_apart_sigmas);
        fits = fitted(detected, sigma);
    }
    MovieSpots to;
    to.frames = std::int64_t(frames.photoelectrons.size());
    for (const std::int64_t spots : detected.found) to.found += spots;
    to.lone = int(detected.lone.count());
    to.per_pixel = density_of(detected.found, camera);
    to.noise_checks = detected.noise_checks;
    if (fits.sigma_px.size() < least_spots) {
        to.why_not = fmt::format("only {} of {} spots in {} frames have no other near, and {} are needed",
                                 fits.sigma_px.size(), to.found, to.frames, least_spots);
        return to;
    }
    if (are_mixed(fits, to)) {
        to.why_not =
            fmt::format("frames are crowded, and the {} spots that have no other near are of many widths", to.lone);
        return to;
    }
    const double noise = median(detected.noise_checks), unequal = astigmatism_of(detected.lone, sigma, noise);
    const bool wrong_camera = noise > noise_of_wrong_camera;
    if (!wrong_camera) recommend_psf(fits, unequal, sigma, to);
    if (unequal > most_astigmatism)
        to.why_not = fmt::format(
            "along x and y spots differ in width by {:.0f} %, as with an astigmatic lens, so that no one width fits "
            "them{}",
            100 * unequal,
            wrong_camera ? fmt::format("; or the gain is too large, as noise is {:.2g} times the camera's", noise)
                         : "");
    else
        to.sigma_px = width_of(fits, to.per_pixel.value), to.photons = median_of(fits.photons);
    return to;
}

}  // namespace

MovieSpots typical_spots(const SpotFrames& frames, const CameraView& camera, double sigma_px) {
    constexpr int most_rounds = 5;
    constexpr double same = 0.02;
    double sigma = sigma_px > 0 ? sigma_px : first_sigma_px;
    MovieSpots to;
    for (int round = 0; round < most_rounds; ++round) {
        to = spots_at(frames, camera, sigma);
        if (!to.sigma_px) return to;
        const double next = std::clamp(to.sigma_px->value, narrowest_px, widest_px);
        if (sigma_px > 0 || std::abs(next / sigma - 1) < same) return to;
        sigma = next;
    }
    return to;
}

}  // namespace glint
