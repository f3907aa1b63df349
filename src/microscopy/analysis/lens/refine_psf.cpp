// Ascent of the likelihood of lone spots in the sample's aberrations, and the test on spots that were left out.
// SPDX-License-Identifier: MIT
#include "glint/refine_psf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "analysis/lens/lens_optics.hpp"
#include "analysis/lens/lone_windows.hpp"
#include "analysis/lens/solve_dense.hpp"
#include "base/arena.hpp"
#include "base/median.hpp"
#include "detect/pixel_survey.hpp"
#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "psf/spline_coefficients.hpp"

namespace glint {
namespace {

using lens::LensOptics;

constexpr std::size_t min_refine_spots = 300, refine_left_out_stride = 5;
constexpr double max_unexplained = 0.5, doubtful_unexplained = 0.25;
constexpr double max_z_factor_change = 0.1;
constexpr int max_refine_steps = 20;
constexpr std::size_t min_used_spots = 150;
constexpr int refine_steps_before = 3;        // survey, optics, windows
constexpr double refine_rejected_part = 0.1;  // of the spots, those with the largest deviance: several molecules
constexpr double outlier_slopes = 8;          // medians: fits that jumped to another maximum
constexpr double min_predicted_gain = 0.5;    // of the log-likelihood of all spots
constexpr double at_bound_nm = 1;
constexpr int min_refine_window = 9;  // px
constexpr double errors_better = 3;
constexpr double min_added_likelihood = 2.5;  // what a spot's own five parameters gain by noise
constexpr double min_refined_good_p = 0.5;    // else something else than these aberrations decides
constexpr double doubtful_error_rad = 0.2;
constexpr std::size_t refine_padding = 4;  // points around the table: the spline's ends are inaccurate

void check_refine_options(const MovieInfo& movie, const PsfTable& beads, const RefinePsfOptions& options) {
    if (beads.shape()[0] < 4)
        throw OptionError(
            "a PSF without z cannot be refined for a sample: measure one from stacks of beads, `glint "
            "calibrate psf BEADS.tif`");
    if (beads.field().cells() > 1)
        throw OptionError(
            fmt::format("a PSF that changes over the field, of {} x {} cells, cannot be refined for a sample: "
                        "measure one PSF for the field, `glint calibrate psf BEADS.tif` without a field",
                        beads.field().cells_x, beads.field().cells_y));
    const double pixel_nm = beads.scale().pixel_size_nm;
    if (options.pixel_size_nm != 0 && !(std::abs(options.pixel_size_nm / pixel_nm - 1) < 1e-3))
        throw OptionError(
            fmt::format("the PSF is for pixels of {:g} nm, and {} has pixels of {:g} nm: measure the PSF with this "
                        "camera and magnification, or correct `pixel_size`",
                        pixel_nm, movie.name, options.pixel_size_nm));
    if (movie.frames == unknown_frames)
        throw InputError(fmt::format("{}: has no known end yet: refine the PSF with a complete movie", movie.name));
    if (movie.frames == 0) throw InputError(fmt::format("{}: has no frames", movie.name));
    const auto require = [](const char* what, double value, double low, double high) {
        if (!(value >= low && value <= high))
            throw OptionError(fmt::format("{} of {:g} is outside the limits, {:g} to {:g}", what, value, low, high));
    };
    require("a numerical aperture, `na`,", options.na, 0.05, 2);
    require("a wavelength in nm", options.wavelength_nm, 200, 2000);
    require("an immersion index", options.immersion_index, 1, 2);
    if (options.sample_index != 0) require("a sample index", options.sample_index, 1, 2);
    if (options.na >= options.immersion_index)
        throw OptionError(
            fmt::format("a numerical aperture of {:g} is not below the immersion index, {:g}: check `na` "
                        "and `immersion_index`",
                        options.na, options.immersion_index));
    if (options.sample_index != 0 && options.na >= options.sample_index)
        throw OptionError(fmt::format(
            "a numerical aperture of {:g} is not below the sample index, {:g}: scalar diffraction does not describe "
            "light that is evanescent in the sample. Leave `sample_index` out: spherical aberration and its growth "
            "with z are estimated then",
            options.na, options.sample_index));
}

/// A number to be estimated: how it changes the optics, its unit, and the step for slopes.
struct SampleParameter {
    const char *name, *unit;
    double step, prior;  ///< prior: standard deviation of plausible values
    void (*add)(double value, LensOptics& optics);
};

template <int noll>
void add_noll(double value, LensOptics& optics) {
    for (ZernikeTerm& term : optics.pupil.zernike)
        if (term.noll == noll) return void(term.rad_rms += value);
    optics.pupil.zernike.push_back({noll, value});
}

constexpr SampleParameter depth_parameter{"depth", "nm", 100, 3e4,
                                          [](double value, LensOptics& optics) { optics.pupil.depth_nm += value; }};
constexpr SampleParameter spherical_parameters[] = {
    {"spherical", "rad", 0.05, 1, &add_noll<11>},
    {"spherical growth", "rad/um", 0.1, 1,
     [](double value, LensOptics& optics) { optics.spherical_rad_per_nm += value * 1e-3; }}};
constexpr SampleParameter other_aberrations[] = {{"astigmatism", "rad", 0.05, 0.3, &add_noll<6>},
                                                 {"astigmatism_45", "rad", 0.05, 0.3, &add_noll<5>},
                                                 {"coma_x", "rad", 0.05, 0.3, &add_noll<8>},
                                                 {"coma_y", "rad", 0.05, 0.3, &add_noll<7>},
                                                 {"trefoil", "rad", 0.05, 0.3, &add_noll<10>},
                                                 {"trefoil_30", "rad", 0.05, 0.3, &add_noll<9>},
                                                 {"secondary_spherical", "rad", 0.05, 0.3, &add_noll<22>}};

std::vector<SampleParameter> sample_parameters(bool index_differs) {
    std::vector<SampleParameter> to;
    if (index_differs)
        to.push_back(depth_parameter);
    else
        to.assign(std::begin(spherical_parameters), std::end(spherical_parameters));
    to.insert(to.end(), std::begin(other_aberrations), std::end(other_aberrations));
    return to;
}

/// Makes tables of the beads' PSF with more aberrations.
class SampleTables {
  public:
    SampleTables(const PsfTable& beads, const lens::FoundOptics& found, double sample_index, const StopFlag* stop)
        : beads_(beads), optics_(found.optics), in_sample_(found.optics), stop_(stop) {
        const auto& shape = beads.shape();
        const PsfTable::Scale& scale = beads.scale();
        points_ = {std::size_t(shape[0]) - 2, std::size_t(std::max(shape[1], shape[2])) - 2, 0};
        points_[2] = points_[1];
        knot_nm_ = (scale.z_max_nm - scale.z_min_nm) / double(points_[0] - 1);
        grid_ = {scale.pixel_size_nm, scale.samples_per_px, int(points_[1] + 2 * refine_padding), {}};
        for (std::size_t k = 0; k < points_[0] + 2 * refine_padding; ++k)
            grid_.z_nm.push_back(scale.z_min_nm + (double(k) - double(refine_padding)) * knot_nm_);
        without_ = draw_volume(optics_, grid_, stop);
        if (sample_index != 0) {
            in_sample_.pupil.sample_index = sample_index, in_sample_.moving = PupilZ::molecule;
            // Stage and table have the same unit now; the molecule's height is z itself.
            in_sample_.z_factor = 1;
        }
    }

    std::shared_ptr<const PsfTable> make(const std::vector<SampleParameter>& parameters,
                                         const std::vector<double>& values) const {
        LensOptics optics = in_sample_;
        for (std::size_t k = 0; k < values.size(); ++k) parameters[k].add(values[k], optics);
        std::vector<double> difference = draw_volume(optics, grid_, stop_);
        for (std::size_t p = 0; p < difference.size(); ++p) difference[p] -= without_[p];
        const auto edge = std::size_t(grid_.points);
        const SplineCoefficients spline = interpolate({grid_.z_nm.size(), edge, edge}, difference);
        std::vector<float> coefficients(beads_.values().begin(), beads_.values().end());
        const auto& shape = beads_.shape();
        const std::size_t ny = std::size_t(shape[1]), nx = std::size_t(shape[2]);
        const std::size_t skip_y = refine_padding + (points_[1] + 2 - ny) / 2,
                          skip_x = refine_padding + (points_[2] + 2 - nx) / 2;
        for (std::size_t k = 0; k < std::size_t(shape[0]); ++k)
            for (std::size_t j = 0; j < ny; ++j)
                for (std::size_t i = 0; i < nx; ++i)
                    coefficients[(k * ny + j) * nx + i] += float(spline.at(k + refine_padding, j + skip_y, i + skip_x));
        return std::make_shared<const PsfTable>(shape, std::move(coefficients), beads_.scale());
    }

  private:
    const PsfTable& beads_;
    LensOptics optics_, in_sample_;
    const StopFlag* stop_;
    Index3 points_{};
    double knot_nm_ = 0;
    lens::VolumeGrid grid_;
    std::vector<double> without_;
};

/// The fits of spots with a table, and their log-likelihoods.
struct SpotLikelihoods {
    Fits fits;
    std::vector<double> values;  ///< log-likelihood ratios: minus half of the deviance
    std::vector<char> is_good;   ///< converged within the range of z

    double z_nm(std::size_t k) const { return 1e3 * double(fits.theta[4][k]); }
};

/// Where fits start: at the best templates, or at other fits of the same spots; `both`: the better of the two, spot by
/// spot. A likelihood that is compared at two tables must not depend on which of its maxima a fit finds.
enum class FitStarts { templates, near, both };

SpotLikelihoods fit_spots(const Rois& rois, const std::shared_ptr<const PsfTable>& table, const StopFlag* stop,
                          FitStarts starts = FitStarts::templates, const Fits* near = nullptr) {
    const PsfTable::Scale scale = table->scale();
    const auto fit_from = [&](const Fits* start) {
        FitOptions options;
        options.backend = Backend::cpu, options.stop = stop;
        for (std::size_t column = 0; start && column < 5; ++column) options.start[column] = start->theta[column];
        SpotLikelihoods to;
        to.fits = fit(rois, measured_psf(table), scale.pixel_size_nm, options);
        for (std::size_t k = 0; k < to.fits.count(); ++k) {
            const double z_nm = to.z_nm(k);
            to.values.push_back(double(to.fits.log_likelihood_ratio[k]));
            to.is_good.push_back(to.fits.status[k] == FitStatus::converged && z_nm > scale.z_min_nm + at_bound_nm &&
                                 z_nm < scale.z_max_nm - at_bound_nm);
        }
        return to;
    };
    if (starts == FitStarts::templates || !near) return fit_from(nullptr);
    SpotLikelihoods to = fit_from(near);
    if (starts == FitStarts::near) return to;
    const SpotLikelihoods other = fit_from(nullptr);
    for (std::size_t k = 0; k < to.values.size(); ++k) {
        const bool is_better = other.is_good[k] && (!to.is_good[k] || other.values[k] > to.values[k]);
        if (!is_better) continue;
        to.values[k] = other.values[k], to.is_good[k] = 1;
        for (std::size_t column = 0; column < 5; ++column) to.fits.theta[column][k] = other.fits.theta[column][k];
        to.fits.status[k] = other.fits.status[k], to.fits.p_value[k] = other.fits.p_value[k];
        to.fits.log_likelihood_ratio[k] = other.fits.log_likelihood_ratio[k];
    }
    return to;
}

/// Which spots to use: not the worst.
std::vector<char> choose_spots(const SpotLikelihoods& spots) {
    std::vector<double> sorted;
    for (std::size_t k = 0; k < spots.values.size(); ++k)
        if (spots.is_good[k]) sorted.push_back(spots.values[k]);
    std::vector<char> chosen = spots.is_good;
    if (sorted.empty()) return chosen;
    const auto limit = sorted.begin() + std::ptrdiff_t(refine_rejected_part * double(sorted.size() - 1));
    std::nth_element(sorted.begin(), limit, sorted.end());
    for (std::size_t k = 0; k < chosen.size(); ++k) chosen[k] = chosen[k] && spots.values[k] >= *limit;
    return chosen;
}

/// SpotSlopes of the spots' log-likelihoods, each already maximal in the spot's own parameters, and their sums.
struct SpotSlopes {
    std::vector<double> gradient;
    /// Minus the second derivatives. The diagonal is measured; the correlations are those of the spots' slopes, which
    /// equal them for a right model.
    lens::DenseMatrix curvature;
    lens::DenseMatrix scatter;  ///< the sum of the products of the spots' slopes, about their mean
};

class Likelihood {
  public:
    Likelihood(const Rois& rois, const SampleTables& tables, const std::vector<SampleParameter>& parameters,
               const StopFlag* stop)
        : rois_(rois), tables_(tables), parameters_(parameters), stop_(stop) {}

    SpotLikelihoods fit_at(const std::vector<double>& values, FitStarts starts = FitStarts::templates,
                           const SpotLikelihoods* near = nullptr) const {
        return fit_spots(rois_, tables_.make(parameters_, values), stop_, starts, near ? &near->fits : nullptr);
    }
    /// Returns the gain of `there` over `here`, with the priors.
    double gain(const std::vector<char>& chosen, const SpotLikelihoods& here, const std::vector<double>& here_at,
                const SpotLikelihoods& there, const std::vector<double>& there_at) const {
        double sum = 0;
        // A spot that leaves the range of z has a likelihood too, at its end.
        for (std::size_t s = 0; s < chosen.size(); ++s)
            if (chosen[s]) sum += there.values[s] - here.values[s];
        for (std::size_t k = 0; k < parameters_.size(); ++k)
            sum -= 0.5 * (there_at[k] * there_at[k] - here_at[k] * here_at[k]) * precision(k);
        return sum;
    }
    SpotSlopes slopes_at(const std::vector<double>& values, const SpotLikelihoods& here,
                         const std::vector<char>& chosen) const {
        const std::size_t n = parameters_.size();
        SpotSlopes to{std::vector<double>(n), lens::DenseMatrix(n), lens::DenseMatrix(n)};
        std::vector<std::vector<double>> slopes;
        std::vector<double> diagonal;
        for (std::size_t k = 0; k < n; ++k) {
            std::vector<double> above = values, below = values;
            above[k] += parameters_[k].step, below[k] -= parameters_[k].step;
            const SpotLikelihoods up = fit_at(above, FitStarts::near, &here),
                                  down = fit_at(below, FitStarts::near, &here);
            std::vector<double>& slope = slopes.emplace_back(here.values.size());
            std::vector<double> sizes, bends(here.values.size());
            for (std::size_t s = 0; s < slope.size(); ++s) {
                if (!chosen[s] || !up.is_good[s] || !down.is_good[s]) continue;
                slope[s] = 0.5 * (up.values[s] - down.values[s]) / parameters_[k].step;
                bends[s] =
                    (2 * here.values[s] - up.values[s] - down.values[s]) / (parameters_[k].step * parameters_[k].step);
                sizes.push_back(std::abs(slope[s]));
            }
            const double limit = sizes.empty() ? 0 : outlier_slopes * median(sizes);
            double bend = precision(k);
            for (std::size_t s = 0; s < slope.size(); ++s) {
                if (std::abs(slope[s]) > limit) slope[s] = bends[s] = 0;  // the fit jumped to another maximum
                bend += bends[s], to.gradient[k] += slope[s];
            }
            diagonal.push_back(bend);
            to.gradient[k] -= precision(k) * values[k];
        }
        const double count = double(std::count(chosen.begin(), chosen.end(), 1));
        for (std::size_t k = 0; k < n; ++k)
            for (std::size_t l = 0; l < n; ++l) {
                double product = 0, sum_k = 0, sum_l = 0;
                for (std::size_t s = 0; s < chosen.size(); ++s)
                    product += slopes[k][s] * slopes[l][s], sum_k += slopes[k][s], sum_l += slopes[l][s];
                to.curvature.at(k, l) = product - sum_k * sum_l / count;
            }
        to.scatter = to.curvature;
        std::vector<double> scale(n);
        for (std::size_t k = 0; k < n; ++k) {
            const double variance = to.curvature.at(k, k);
            scale[k] = variance > 0 ? std::sqrt((diagonal[k] > precision(k) ? diagonal[k] : variance) / variance) : 0;
        }
        for (std::size_t k = 0; k < n; ++k)
            for (std::size_t l = 0; l < n; ++l)
                to.curvature.at(k, l) = scale[k] > 0 && scale[l] > 0 ? to.curvature.at(k, l) * scale[k] * scale[l]
                                        : k == l                     ? precision(k)
                                                                     : 0;
        return to;
    }

  private:
    double precision(std::size_t k) const { return 1 / (parameters_[k].prior * parameters_[k].prior); }

    const Rois& rois_;
    const SampleTables& tables_;
    const std::vector<SampleParameter>& parameters_;
    const StopFlag* stop_;
};

/// The aberrations, their errors, and what was used.
struct Ascent {
    std::vector<double> values, errors;
    std::int64_t used = 0;
    bool has_converged = false;
};

/// The errors of a maximum: the square roots of the diagonal of C^-1 S C^-1, of the curvature C and the scatter S of
/// the slopes (White, Econometrica 50, 1 (1982)), which hold for a model that is not quite right, too.
std::vector<double> errors_of(const SpotSlopes& slopes) {
    const std::size_t n = slopes.gradient.size();
    std::vector<double> errors;
    for (std::size_t k = 0; k < n; ++k) {
        std::vector<double> unit(n);
        unit[k] = 1;
        const std::vector<double> column = solve_dense(slopes.curvature, unit);
        double variance = 0;
        for (std::size_t a = 0; a < column.size(); ++a)
            for (std::size_t b = 0; b < column.size(); ++b) variance += column[a] * slopes.scatter.at(a, b) * column[b];
        // Where the prior decides, the scatter of the slopes is smaller than the uncertainty.
        errors.push_back(column.empty() ? std::numeric_limits<double>::infinity()
                                        : std::sqrt(std::max(variance, column[k])));
    }
    return errors;
}

/// Damped Newton steps.
Ascent climb(const Likelihood& likelihood, std::size_t n, const std::function<void()>& next_step) {
    Ascent to{std::vector<double>(n), std::vector<double>(n)};
    SpotLikelihoods here = likelihood.fit_at(to.values);
    double damping = 1e-2;
    for (int step = 0; step < max_refine_steps; ++step) {
        next_step();
        const std::vector<char> chosen = choose_spots(here);
        const SpotSlopes slopes = likelihood.slopes_at(to.values, here, chosen);
        to.errors = errors_of(slopes), to.used = std::count(chosen.begin(), chosen.end(), 1);
        if (std::size_t(to.used) < min_used_spots) return to;
        bool is_done = true;
        for (; damping < 1e4; damping *= 8) {
            lens::DenseMatrix damped = slopes.curvature;
            for (std::size_t k = 0; k < n; ++k) damped.at(k, k) *= 1 + damping;
            const std::vector<double> change = solve_dense(std::move(damped), slopes.gradient);
            if (change.empty()) continue;
            double predicted = 0;
            std::vector<double> tried = to.values;
            for (std::size_t k = 0; k < n; ++k)
                tried[k] += change[k], predicted += 0.5 * change[k] * slopes.gradient[k];
            to.has_converged = predicted < min_predicted_gain;
            if (to.has_converged) break;
            SpotLikelihoods there = likelihood.fit_at(tried, FitStarts::both, &here);
            if (!(likelihood.gain(chosen, here, to.values, there, tried) > 0)) continue;
            to.values = std::move(tried), here = std::move(there), damping /= 10, is_done = false;
            break;
        }
        if (is_done) break;
    }
    return to;
}

SpotFits judge_spots(const SpotLikelihoods& spots, int size) {
    SpotFits to;
    double count = 0;
    const double freedom = double(size) * size - 5;
    for (std::size_t k = 0; k < spots.values.size(); ++k) {
        if (spots.fits.status[k] != FitStatus::converged) continue;
        ++count, to.deviance += -2 * spots.values[k] / freedom, to.good_p += spots.fits.p_value[k] > 0.01f;
    }
    return {count > 0 ? to.deviance / count : 0, to.good_p / double(std::max<std::size_t>(spots.values.size(), 1))};
}

/// The mean without the largest and the smallest twentieth, and its standard error (Tukey & McLaughlin, Sankhya A 25,
/// 331 (1963)). A few spots have several maxima of the likelihood, far apart.
std::pair<double, double> trimmed_mean(std::vector<double> values) {
    const std::size_t n = values.size(), cut = n / 20;
    if (n < 10) return {0, std::numeric_limits<double>::infinity()};
    std::sort(values.begin(), values.end());
    double sum = 0, winsorized = 0, squares = 0;
    for (std::size_t k = 0; k < n; ++k) {
        const double value = values[std::clamp(k, cut, n - 1 - cut)];
        if (k >= cut && k < n - cut) sum += value;
        winsorized += value, squares += value * value;
    }
    const double kept = double(n - 2 * cut), variance = (squares - winsorized * winsorized / double(n)) / double(n - 1);
    return {sum / kept, std::sqrt(std::max(variance, 0.0) * double(n)) / kept};
}

void add_left_out(const SpotLikelihoods& beads, const SpotLikelihoods& refined, RefinedPsf& to) {
    std::vector<double> gains;
    for (std::size_t k = 0; k < beads.values.size(); ++k) {
        const bool has_converged =
            beads.fits.status[k] == FitStatus::converged && refined.fits.status[k] == FitStatus::converged;
        if (has_converged) gains.push_back(refined.values[k] - beads.values[k]);
        if (beads.is_good[k] && refined.is_good[k]) to.left_out.push_back({beads.z_nm(k), refined.z_nm(k)});
    }
    std::tie(to.added_likelihood, to.added_likelihood_error) = trimmed_mean(std::move(gains));
    to.is_better = to.added_likelihood > errors_better * to.added_likelihood_error &&
                   to.added_likelihood > min_added_likelihood && to.refined.good_p > min_refined_good_p;
}

void add_refine_warnings(const std::string& movie, const RefinePsfOptions& options, RefinedPsf& to) {
    if (to.unexplained > doubtful_unexplained)
        to.warnings.push_back(fmt::format(
            "Zernike polynomials leave {:.0f} % of the beads' PSF unexplained, so that the change by the sample is "
            "approximate: check `na`, `wavelength` and `immersion_index`",
            100 * to.unexplained));
    if (std::abs(to.z_factor - 1) > max_z_factor_change)
        to.warnings.push_back(fmt::format(
            "the beads' PSF changes with z as if its z were {:.2f} times the stage's: check the step of the stack, "
            "`na` and `immersion_index`; or z was scaled for an index mismatch already",
            1 / to.z_factor));
    for (const SampleAberration& one : to.aberrations)
        if (one.name == "depth" && one.value < -3 * one.error)
            to.warnings.push_back(fmt::format(
                "{}: the depth is {:.0f} +- {:.0f} nm, below the coverslip: z of the beads may be upside down, or "
                "`sample_index` or `na` wrong",
                movie, one.value, one.error));
    if (!to.is_better) {
        const std::string gain = fmt::format("the log-likelihood of a left-out spot changes by {:+.2f} +- {:.2f}",
                                             to.added_likelihood, to.added_likelihood_error);
        const std::string why =
            to.added_likelihood < min_added_likelihood ||
                    to.added_likelihood < errors_better * to.added_likelihood_error
                ? fmt::format("its lone spots do not become clearly more likely: {}", gain)
                : fmt::format(
                      "only {:.0f} % of its lone spots have p > 0.01 with the corrected PSF, so that these "
                      "aberrations are not what is wrong. The background may be uneven, spots may be several "
                      "molecules, the camera's values, `wavelength` or `na` wrong, or other aberrations large",
                      100 * to.refined.good_p);
        to.warnings.push_back(fmt::format("{}: {}. The PSF of the beads is kept{}", movie, why,
                                          options.sample_index != 0 ? ", and z with it is that of the stage" : ""));
        return;
    }
    for (const SampleAberration& one : to.aberrations) {
        const double limit = one.unit == "nm" ? 0.2 * std::abs(one.value) + 100 : doubtful_error_rad;
        if (one.error > limit)
            to.warnings.push_back(fmt::format(
                "{}: {} is {:.3g} +- {:.2g} {}, which is hardly known: use more lone spots, over a larger range of z",
                movie, one.name, one.value, one.error, one.unit));
    }
    constexpr double good_share = 0.9;
    if (to.refined.good_p < good_share - 0.05)
        to.warnings.push_back(fmt::format(
            "{}: {:.0f} % of the left-out spots have p > 0.01 with the refined PSF ({:.0f} % with the beads'); 99 % "
            "are expected. The sample may have other aberrations, `wavelength` or `na` may be wrong, the background "
            "uneven, spots several molecules, or the camera's values wrong",
            movie, 100 * to.refined.good_p, 100 * to.beads.good_p));
}

/// The change of the phase between axis and edge of the pupil with z, times wavelength / (2 pi).
double find_defocus(double index, double na) { return index - std::sqrt(index * index - na * na); }

/// The largest odd window within the ROIs and the table.
int choose_refine_window(const Rois& rois, const PsfTable& table) {
    const auto& shape = table.shape();
    const int half = (std::min(shape[1], shape[2]) - 4) / 2 / table.scale().samples_per_px - 1;
    return std::min(rois.size, 2 * half + 1);
}

}  // namespace

RefinedPsf refine_psf(Movie& movie, const Camera& camera, const PsfTable& beads, const RefinePsfOptions& options) {
    const MovieInfo& info = movie.info();
    check_refine_options(info, beads, options);
    const FrameRange range{options.frames.begin, options.frames.end < 0 ? info.frames : options.frames.end};
    if (!(range.begin >= 0 && range.begin < range.end && range.end <= info.frames))
        throw OptionError(fmt::format("frames {}:{}: {} has {}", range.begin, range.end, info.name, info.frames));
    std::int64_t steps = 0;
    const auto poll = [&](std::int64_t step) {
        if (options.stop && options.stop->load()) throw Cancelled("stopped: no PSF was refined");
        steps = step;
        if (options.progress) options.progress(step, refine_steps_before + max_refine_steps, -1);
    };
    poll(0);
    RefinedPsf to;
    const lens::FoundOptics found = lens::find_optics(
        beads, {options.na, options.wavelength_nm, options.immersion_index, options.immersion_index, 0, {}},
        options.stop);
    to.unexplained = found.unexplained, to.z_factor = found.optics.z_factor;
    if (to.unexplained > max_unexplained)
        throw InputError(fmt::format(
            "Zernike polynomials leave {:.0f} % of the beads' PSF unexplained, at most {:.0f} % are allowed: it cannot "
            "be refined. Check `na`, `wavelength` and `immersion_index`; the PSF of a double helix has no such "
            "description: use it unchanged",
            100 * to.unexplained, 100 * max_unexplained));
    if (options.sample_index != 0 && std::abs(to.z_factor - 1) > max_z_factor_change)
        throw InputError(fmt::format(
            "the beads' PSF changes with z as if its z were {:.2f} times the stage's, but `sample_index` needs the "
            "stage's z: calibrate the beads again with an index mismatch factor of 1, or check the step of the stack, "
            "`na` and "
            "`immersion_index`",
            1 / to.z_factor));
    poll(1);
    const double sigma_px = beads.filter_width_px();
    const PixelSurvey survey =
        survey_pixels(movie, range, CameraView(camera, info.width, info.height), {sigma_px}, own_threads());
    const CameraView view(with_masked(camera, survey.defective, info.width, info.height), info.width, info.height);
    lens::LoneWindows windows =
        lens::find_lone_windows(movie, view, range, sigma_px, survey.saturation_adu, [&](std::int64_t) { poll(1); });
    to.frames = windows.frames, to.spots = windows.spots, to.lone = std::int64_t(windows.rois.count());
    if (windows.rois.count() < min_refine_spots)
        throw InputError(fmt::format(
            "{}: {} of {} spots in {} frames can be used (not saturated, alone in a window of {} px, at most 10 in one "
            "pixel), and at least {} are needed to refine the PSF. Use more frames, or a longer or sparser movie",
            info.name, windows.rois.count(), windows.spots, windows.frames, windows.rois.size, min_refine_spots));
    to.roi_size = choose_refine_window(windows.rois, beads);
    if (to.roi_size < min_refine_window)
        throw InputError(
            fmt::format("the PSF covers a window of {} px, and at least {} are needed to refine it: measure "
                        "it from beads in a larger window",
                        to.roi_size, min_refine_window));
    lens::crop_rois(windows.rois, to.roi_size);
    Rois left_out = windows.rois;
    lens::keep_rois(left_out, [](std::size_t k) { return k % refine_left_out_stride == 0; });
    lens::keep_rois(windows.rois, [](std::size_t k) { return k % refine_left_out_stride != 0; });
    poll(2);
    const SampleTables tables(beads, found, options.sample_index, options.stop);
    const std::vector<SampleParameter> parameters = sample_parameters(options.sample_index != 0);
    const Ascent ascent = climb({windows.rois, tables, parameters, options.stop}, parameters.size(),
                                [&] { poll(std::max(steps, std::int64_t(2)) + 1); });
    to.used = ascent.used;
    if (std::size_t(to.used) < min_used_spots)
        throw InputError(
            fmt::format("{}: fits of {} of {} lone spots end within the range of z, and at least {} are needed: use "
                        "more frames, or "
                        "a PSF of the beads with a larger range of z",
                        info.name, to.used, windows.rois.count(), min_used_spots));
    if (!ascent.has_converged)
        to.warnings.push_back(fmt::format(
            "{}: the aberrations did not converge in {} steps, so that their errors are larger than stated: use more "
            "lone spots",
            info.name, max_refine_steps));
    for (std::size_t k = 0; k < parameters.size(); ++k) {
        to.aberrations.push_back({parameters[k].name, parameters[k].unit, ascent.values[k],
                                  std::min(ascent.errors[k], parameters[k].prior)});
    }
    poll(refine_steps_before + max_refine_steps);
    const auto bead_table = std::make_shared<const PsfTable>(beads);
    to.table = tables.make(parameters, ascent.values);
    const SpotLikelihoods first = fit_spots(left_out, bead_table, options.stop);
    const SpotLikelihoods refined = fit_spots(left_out, to.table, options.stop, FitStarts::both, &first.fits);
    const SpotLikelihoods by_beads = fit_spots(left_out, bead_table, options.stop, FitStarts::both, &refined.fits);
    to.beads = judge_spots(by_beads, to.roi_size), to.refined = judge_spots(refined, to.roi_size);
    add_left_out(by_beads, refined, to);
    if (!to.is_better)
        to.table = bead_table;
    else if (options.sample_index != 0)
        to.height_per_stage =
            find_defocus(options.immersion_index, options.na) / find_defocus(options.sample_index, options.na);
    add_refine_warnings(info.name, options, to);
    return to;
}

}  // namespace glint
