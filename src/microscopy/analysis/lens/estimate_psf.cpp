// Rounds of fits and coefficients, the conventions of the PSF, and the test on spots that were left out.
// SPDX-License-Identifier: MIT
#include "glint/estimate_psf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "analysis/lens/flat_spline.hpp"
#include "analysis/lens/lone_windows.hpp"
#include "base/arena.hpp"
#include "base/median.hpp"
#include "detect/pixel_survey.hpp"
#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/inspect.hpp"
#include "glint/units.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

using lens::SplineGrid;
using lens::SpotPlace;

constexpr int estimate_rounds = 7, first_rejecting_round = 2;
constexpr double rejected_part = 0.1;       // of the spots, those with the largest deviance
constexpr double max_times_photons = 8;     // of the median: beads, or several molecules
constexpr std::size_t left_out_stride = 5;  // each fifth spot
constexpr std::size_t min_lone_windows = 300;
constexpr double expected_good_p = 0.99, min_good_share = 0.9, same_good_p = 0.02, better_good_p = 0.05;
constexpr double min_spot_deviance = 0.9, max_spot_deviance = 1.1, errors_beyond_limit = 3;  // as for beads
constexpr double max_outside = 0.2, max_width_in_windows = 0.1;
constexpr double tail_from = 0.75;  // of the window's radius: where the tail begins
constexpr double min_good_p_of_spot = 0.01;

void check_estimate_options(const MovieInfo& movie, const EstimatePsfOptions& options) {
    check_pixel_size(options.pixel_size_nm);
    if (movie.frames == unknown_frames)
        throw InputError(
            fmt::format("{}: has no known end yet: estimate the PSF from a complete movie of the same "
                        "microscope, by `glint calibrate psf-2d`, and give that file as `psf`",
                        movie.name));
    if (movie.frames == 0) throw InputError(fmt::format("{}: has no frames", movie.name));
    const double sigma_px = options.sigma_nm / options.pixel_size_nm;
    if (options.sigma_nm != 0 && !(sigma_px >= 0.3 && sigma_px <= 8))
        throw OptionError(fmt::format("a width of {} nm is {:.3g} px: give 0.3 to 8 px", options.sigma_nm, sigma_px));
}

double find_sigma_px(Movie& movie, const Camera& camera, const FrameRange& range, const EstimatePsfOptions& options) {
    if (options.sigma_nm > 0) return options.sigma_nm / options.pixel_size_nm;
    InspectOptions known;
    known.camera = camera, known.frames = range, known.stop = options.stop;
    const MovieSpots spots = inspect(movie, known).spots;
    if (!spots.sigma_px)
        throw InputError(
            fmt::format("{}: the width of its spots is not known: {}. Give `sigma`, about 0.21 wavelength "
                        "/ NA",
                        movie.info().name, spots.why_not));
    return spots.sigma_px->value;
}

FitOptions spot_fit_options(const EstimatePsfOptions& options) {
    FitOptions fit_options;
    fit_options.backend = Backend::cpu, fit_options.stop = options.stop;
    return fit_options;
}

/// The windows' photoelectrons by the fits, for the weights. A product of profiles, or the spline's h.
std::vector<float> draw_models(const Rois& rois, const Psf& psf, double pixel_size_nm, const Fits& fits) {
    const PsfInDouble in_double(psf, pixel_size_nm);
    const std::size_t pixels = std::size_t(rois.size) * std::size_t(rois.size);
    std::vector<float> model(rois.pixels.size());
    std::vector<double> image(pixels);
    for (std::size_t k = 0; k < fits.count(); ++k) {
        std::fill(image.begin(), image.end(), double(fits.theta[3][k]));
        const double theta[4 + max_shape_parameters] = {fits.theta[0][k], fits.theta[1][k], fits.theta[2][k],
                                                        fits.theta[3][k]};
        in_double.add_photons(theta, 0, 0, rois.size, rois.size, image.data());
        std::copy(image.begin(), image.end(), model.begin() + std::ptrdiff_t(k * pixels));
    }
    return model;
}

/// The centroid of max(h, 0)^1.5 in the window of a molecule in the middle.
std::array<double, 2> locate_centroid(const std::vector<double>& h, int edge) {
    double total = 0, x = 0, y = 0;
    for (int p = 0; p < edge * edge; ++p) {
        const double share = h[std::size_t(p)] > 0 ? std::pow(h[std::size_t(p)], 1.5) : 0;
        total += share, x += share * (p % edge), y += share * (p / edge);
    }
    const double middle = 0.5 * (edge - 1);
    return total > 0 ? std::array{x / total - middle, y / total - middle} : std::array{0.0, 0.0};
}

bool is_on_border(int p, int edge) {
    const int x = p % edge, y = p / edge;
    return x == 0 || y == 0 || x == edge - 1 || y == edge - 1;
}

double distance_from_middle(int p, int edge) {
    return std::hypot(p % edge - 0.5 * (edge - 1), p / edge - 0.5 * (edge - 1));
}

/// The light that the window and the free background hide: the tail of a lens with a round pupil falls with r^-3, on
/// average over its rings (Born & Wolf, Principles of Optics, section 8.8).
struct Tail {
    double border = 0;   ///< h at the window's border
    double outside = 0;  ///< sum of h beyond the window
};

/// Fits amplitude (r^-3 - its mean over the border) to h, whose border has the mean 0.
Tail measure_tail(const std::vector<double>& h, int edge) {
    const double half = 0.5 * edge;
    double border = 0;
    int border_pixels = 0;
    for (int p = 0; p < edge * edge; ++p)
        if (is_on_border(p, edge)) border += std::pow(distance_from_middle(p, edge), -3), ++border_pixels;
    border /= border_pixels;
    double products = 0, squares = 0;
    for (int p = 0; p < edge * edge; ++p) {
        const double r = distance_from_middle(p, edge);
        if (r < tail_from * half || r > half) continue;
        const double shape = std::pow(r, -3) - border;
        products += shape * h[std::size_t(p)], squares += shape * shape;
    }
    const double amplitude = std::max(0.0, squares > 0 ? products / squares : 0);
    // The integral of r^-3 outside of a square of half edge a is 4 sqrt(2) / a.
    return {amplitude * border, amplitude * 4 * std::numbers::sqrt2 / half};
}

/// A plane of coefficients with the conventions of EstimatedPsf.
struct FlatPsf {
    SplineGrid grid;
    std::vector<double> coefficients;
    double outside = 0;

    std::shared_ptr<const PsfTable> to_table(double pixel_size_nm) const {
        const PsfTable::Shape shape{1, grid.nxy(), grid.nxy(), 1};
        return std::make_shared<const PsfTable>(shape, std::vector<float>(coefficients.begin(), coefficients.end()),
                                                PsfTable::Scale{pixel_size_nm, 0, 0, grid.samples});
    }
};

void normalise(FlatPsf& psf) {
    const int edge = psf.grid.window;
    std::vector<double> h = lens::draw_flat_spline(psf.grid, psf.coefficients, 0, 0);
    double border = 0;
    int border_pixels = 0;
    for (int p = 0; p < edge * edge; ++p)
        if (is_on_border(p, edge)) border += h[std::size_t(p)], ++border_pixels;
    border /= border_pixels;
    for (double& c : psf.coefficients) c -= border;  // the B-splines sum to 1
    double inside = 0;
    for (double& value : h) value -= border, inside += value;
    const Tail tail = measure_tail(h, edge);
    const double all = inside + tail.border * edge * edge + tail.outside;
    for (double& c : psf.coefficients) c /= all;
    psf.outside = 1 - inside / all;
}

/// The state of the rounds.
struct Estimation {
    const Rois& rois;
    const EstimatePsfOptions& options;
    std::vector<SpotPlace> spots;
    FlatPsf psf;

    Fits fit_with(const Psf& model) const { return fit(rois, model, options.pixel_size_nm, spot_fit_options(options)); }
};

double find_deviance(const Fits& fits, std::size_t k) { return -2 * double(fits.log_likelihood_ratio[k]); }

/// Takes the spots' positions and light from fits, and leaves out those that failed or do not look like the rest.
void take_places(const Fits& fits, int round, const std::array<double, 2>& centroid, Estimation& to) {
    const double middle = 0.5 * (to.rois.size - 1), limit = to.psf.grid.max_offset_px();
    std::vector<double> photons, deviance;
    for (std::size_t k = 0; k < fits.count(); ++k) {
        SpotPlace& spot = to.spots[k];
        spot = {double(fits.theta[0][k]) - middle + centroid[0], double(fits.theta[1][k]) - middle + centroid[1],
                double(fits.theta[2][k]), fits.status[k] == FitStatus::converged};
        spot.is_used &= std::abs(spot.x_px) < limit && std::abs(spot.y_px) < limit && spot.photons > 0;
        if (!spot.is_used) continue;
        photons.push_back(spot.photons), deviance.push_back(find_deviance(fits, k));
    }
    if (photons.empty()) return;
    const double brightest = max_times_photons * median(photons);
    const auto worst_kept = deviance.begin() + std::ptrdiff_t(double(deviance.size() - 1) * (1 - rejected_part));
    std::nth_element(deviance.begin(), worst_kept, deviance.end());
    for (std::size_t k = 0; k < fits.count(); ++k) {
        SpotPlace& spot = to.spots[k];
        spot.is_used &= spot.photons <= brightest;
        if (round >= first_rejecting_round) spot.is_used &= find_deviance(fits, k) <= *worst_kept;
    }
}

SpotFits judge_fits(const Fits& fits, int size, int parameters) {
    SpotFits to;
    double count = 0;
    const double freedom = double(size) * size - parameters;
    for (std::size_t k = 0; k < fits.count(); ++k) {
        if (fits.status[k] != FitStatus::converged) continue;
        ++count;
        to.deviance += find_deviance(fits, k) / freedom;
        to.good_p += double(fits.p_value[k]) > min_good_p_of_spot;
    }
    // A fit that failed is not good, and has no deviance.
    return {count > 0 ? to.deviance / count : 0, fits.count() > 0 ? to.good_p / double(fits.count()) : 0};
}

void add_warnings(const std::string& movie, EstimatedPsf& to) {
    constexpr int wide_window = 25;
    if (to.roi_size < wide_window)
        to.warnings.push_back(fmt::format(
            "{}: its spots lie so close that the PSF was estimated in windows of {} px instead of {}: light beyond is "
            "not described, and bright spots may get false neighbours. Use a sparser part of the movie: `frames`",
            movie, to.roi_size, wide_window));
    const double width_px = to.table->filter_width_px();
    if (width_px > max_width_in_windows * to.roi_size || to.outside > max_outside)
        to.warnings.push_back(fmt::format(
            "{}: its spots, of a width of {:.1f} px, are too wide for windows of {} px: the light beyond is not known, "
            "so that photons may be wrong by a third. Use a Gaussian, `sigma=auto`, or bin the pixels",
            movie, width_px, to.roi_size));
    const double tested = double(to.lone) / double(left_out_stride);
    const double share_error = std::sqrt(expected_good_p * (1 - expected_good_p) / tested);
    const double deviance_error = std::sqrt(2 / (double(to.roi_size) * to.roi_size) / tested);
    const std::string found = fmt::format(
        "{:.0f} % of {:.0f} spots that it was not estimated from have p > 0.01, and their deviance is {:.2f} per "
        "degree of freedom; 99 % and 1.00 are expected",
        100 * to.psf.good_p, tested, to.psf.deviance);
    if (to.psf.deviance < min_spot_deviance - errors_beyond_limit * deviance_error)
        to.warnings.push_back(fmt::format(
            "{}: the noise is lower than the camera's values predict: {}. Photons are wrong as well: check `gain`, "
            "`em_gain` and `offset`; see `glint inspect`",
            movie, found));
    if (to.psf.good_p < min_good_share - errors_beyond_limit * share_error ||
        to.psf.deviance > max_spot_deviance + errors_beyond_limit * deviance_error) {
        const std::string gaussian =
            to.gaussian.good_p > to.psf.good_p + better_good_p
                ? fmt::format(". A Gaussian of free width describes {:.0f} %: `psf=GaussianXYNBS` with `sigma=auto`",
                              100 * to.gaussian.good_p)
                : "";
        to.warnings.push_back(fmt::format(
            "{}: one PSF does not describe its spots: {}. Molecules may lie at different depths: measure a PSF with z "
            "from beads, `glint calibrate psf BEADS.tif`. Or the background is uneven, or the camera's values are "
            "wrong: see `glint inspect`{}",
            movie, found, gaussian));
    } else if (to.gaussian.good_p > to.psf.good_p - same_good_p) {
        to.warnings.push_back(fmt::format(
            "{}: a Gaussian of free width describes its spots as well ({:.0f} % have p > 0.01, {:.0f} % with this "
            "PSF): `sigma=auto` suffices, with `psf=GaussianXYNBS` if widths differ",
            movie, 100 * to.gaussian.good_p, 100 * to.psf.good_p));
    }
}

}  // namespace

EstimatedPsf estimate_psf(Movie& movie, const Camera& camera, const EstimatePsfOptions& options) {
    const MovieInfo& info = movie.info();
    check_estimate_options(info, options);
    const FrameRange range{options.frames.begin, options.frames.end < 0 ? info.frames : options.frames.end};
    if (!(range.begin >= 0 && range.begin < range.end && range.end <= info.frames))
        throw OptionError(fmt::format("frames {}:{}: {} has {}", range.begin, range.end, info.name, info.frames));
    const auto poll = [&](std::int64_t step) {
        if (options.stop && options.stop->load()) throw Cancelled("stopped: no PSF was estimated");
        if (options.progress) options.progress(step, estimate_rounds + 2, -1);
    };
    poll(0);
    const double sigma_px = find_sigma_px(movie, camera, range, options);
    const PixelSurvey survey =
        survey_pixels(movie, range, CameraView(camera, info.width, info.height), {sigma_px}, own_threads());
    const CameraView view(with_masked(camera, survey.defective, info.width, info.height), info.width, info.height);
    poll(1);
    lens::LoneWindows windows =
        lens::find_lone_windows(movie, view, range, sigma_px, survey.saturation_adu, [&](std::int64_t) { poll(1); });
    EstimatedPsf to;
    to.frames = windows.frames, to.spots = windows.spots, to.lone = std::int64_t(windows.rois.count());
    to.roi_size = windows.rois.size;
    if (windows.rois.count() < min_lone_windows)
        throw InputError(fmt::format(
            "{}: {} of {} spots in {} frames can be used (not saturated, alone in a window of {} px, at most 10 in one "
            "pixel), and at least {} are needed to estimate the PSF. Use more frames, a longer or a sparser movie, or "
            "a PSF from beads: `glint calibrate psf BEADS.tif`",
            info.name, windows.rois.count(), windows.spots, windows.frames, windows.rois.size, min_lone_windows));
    Rois left_out = windows.rois;
    lens::keep_rois(left_out, [](std::size_t k) { return k % left_out_stride == 0; });
    lens::keep_rois(windows.rois, [](std::size_t k) { return k % left_out_stride != 0; });
    Estimation estimation{windows.rois, options, std::vector<SpotPlace>(windows.rois.count()), {}};
    SplineGrid& grid = estimation.psf.grid;
    grid.window = windows.rois.size, grid.margin = 1, grid.samples = 2, grid.nz = 1;
    Psf model;
    model.sigma_nm = sigma_px * options.pixel_size_nm;
    std::array<double, 2> centroid{0, 0};
    for (int round = 0; round < estimate_rounds; ++round) {
        poll(2 + round);
        const Fits fits = estimation.fit_with(model);
        take_places(fits, round, centroid, estimation);
        const auto usable = std::count_if(estimation.spots.begin(), estimation.spots.end(),
                                          [](const SpotPlace& spot) { return spot.is_used; });
        if (2 * std::size_t(usable) < estimation.spots.size())
            throw InputError(
                fmt::format("{}: fits of {} of {} lone spots fail, so that no PSF can be estimated: check `sigma`, "
                            "`offset` and `gain`; see `glint inspect`",
                            info.name, estimation.spots.size() - std::size_t(usable), estimation.spots.size()));
        FlatPsf& psf = estimation.psf;
        psf.coefficients =
            lens::solve_flat_spline(grid, windows.rois, estimation.spots,
                                    draw_models(windows.rois, model, options.pixel_size_nm, fits), psf.coefficients);
        normalise(psf);
        centroid = locate_centroid(lens::draw_flat_spline(grid, psf.coefficients, 0, 0), grid.window);
        model = measured_psf(psf.to_table(options.pixel_size_nm));
    }
    poll(2 + estimate_rounds);
    std::vector<double> photons;
    for (const SpotPlace& spot : estimation.spots)
        if (spot.is_used) photons.push_back(spot.photons);
    to.used = std::int64_t(photons.size()), to.photons = photons.empty() ? 0 : median(photons);
    to.table = model.table, to.outside = estimation.psf.outside;
    Psf gaussian{PsfModel::GaussianXYNBS};
    gaussian.sigma_nm = sigma_px * options.pixel_size_nm;
    const auto judge = [&](const Psf& psf) {
        return judge_fits(fit(left_out, psf, options.pixel_size_nm, spot_fit_options(options)), left_out.size,
                          parameter_count(psf.model));
    };
    to.psf = judge(model), to.gaussian = judge(gaussian);
    add_warnings(info.name, to);
    return to;
}

}  // namespace glint
