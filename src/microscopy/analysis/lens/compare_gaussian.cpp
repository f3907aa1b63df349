// Widths of all slices, a curve from each half of the beads, and fits of the other half with it.
// SPDX-License-Identifier: MIT
#include "analysis/lens/compare_gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "analysis/astigmatic_lens.hpp"
#include "base/median.hpp"
#include "base/micrometres.hpp"
#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "psf/curve_in_um.hpp"

namespace glint::lens {
namespace {

constexpr double model_error = 0.005;     // relative error of a width, as in calibrate_astigmatism()
constexpr double start_width_px = 1.3;    // of fits with free widths
constexpr double compared_from_end = 3;   // CRLB: slices nearer to the ends of the range are not compared
constexpr double max_wrong_share = 0.01;  // of the Gaussian's fits to slices that the measured PSF fits
constexpr double exact_good_p = 0.99;     // share with p > 0.01 of an exact model
constexpr double compared_errors = 2;     // standard errors
constexpr std::size_t min_widths = 15;    // for the nine parameters of a curve

/// A right fit with the measured PSF, and the same slice as a ROI.
struct ComparedSlice {
    const HeldOutFit* spline;
    double z_nm;       ///< of the bead: that of the slice and the bead's own
    std::size_t half;  ///< of the data
};

std::vector<ComparedSlice> list_slices(const BeadSet& beads, const HeldOut& held_out, const PsfCalibration& found) {
    std::vector<ComparedSlice> slices;
    for (const HeldOutFit& each : held_out.fits)
        if (!each.wrong && each.z_nm >= found.z_min_nm && each.z_nm <= found.z_max_nm)
            slices.push_back(
                {&each, each.z_nm + beads.places[each.bead].z_nm, (held_out.by_slices ? each.slice : each.bead) % 2});
    return slices;
}

Rois cut_slices(const BeadSet& beads, const std::vector<ComparedSlice>& slices, int size) {
    Rois rois;
    rois.size = size;
    std::vector<BeadWindow> cropped;
    for (const BeadWindow& window : beads.windows) cropped.push_back(crop(window, size));
    const bool is_multiplied = std::any_of(cropped.begin(), cropped.end(), [](const BeadWindow& window) {
        return std::any_of(window.shot_noise.begin(), window.shot_noise.end(), [](float f) { return f >= 1.5f; });
    });
    rois.excess_noise = is_multiplied ? 2 : 1;
    for (const ComparedSlice& each : slices) {
        const BeadWindow& window = cropped[each.spline->bead];
        const float* pixels = window.slice(each.spline->slice);
        rois.pixels.insert(rois.pixels.end(), pixels, pixels + window.pixels());
        rois.variance.insert(rois.variance.end(), window.read_variance.begin(), window.read_variance.end());
        for (const float f : window.shot_noise) rois.qe.push_back(rois.excess_noise / f);
    }
    return rois;
}

Fits fit_on_cpu(const Rois& rois, const Psf& psf, double pixel_size_nm) {
    FitOptions options;
    options.backend = Backend::cpu;
    return fit(rois, psf, pixel_size_nm, options);
}

/// Returns the curve through the widths of one half; nullopt if there are too few.
std::optional<AstigmaticFit> fit_half(const std::vector<ComparedSlice>& slices, const Fits& widths, std::size_t half,
                                      double pixel_size_nm) {
    const double um_per_px = nm_to_um(pixel_size_nm);
    WidthsOverZ over_z;
    const auto add = [&](std::size_t k, std::size_t column, std::vector<double>& sigma, std::vector<double>& error) {
        sigma.push_back(um_per_px * widths.theta[column][k]);
        error.push_back(std::hypot(um_per_px * widths.crlb[column][k], model_error * sigma.back()));
    };
    for (std::size_t k = 0; k < slices.size(); ++k) {
        if (slices[k].half != half || widths.status[k] != FitStatus::converged) continue;
        over_z.z.push_back(nm_to_um(slices[k].z_nm));
        add(k, 4, over_z.sigma_x, over_z.sigma_x_unc);
        add(k, 5, over_z.sigma_y, over_z.sigma_y_unc);
    }
    if (over_z.z.size() < min_widths) return {};
    return fit_astigmatic_curve(over_z);
}

/// Fits of the Gaussian: the rows of `slices`.
struct GaussianFits {
    std::vector<double> z_error_nm, deviance, p_value;
    std::vector<char> converged;
};

/// Returns nullopt if the widths of a half determine no curve.
std::optional<GaussianFits> fit_gaussians(const Rois& rois, const std::vector<ComparedSlice>& slices,
                                          const PsfCalibration& found) {
    const double pixel_size_nm = found.table->scale().pixel_size_nm;
    const std::size_t n = slices.size();
    const Fits widths = fit_on_cpu(rois, {PsfModel::GaussianXYNBSXSY, start_width_px * pixel_size_nm}, pixel_size_nm);
    GaussianFits out{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n), std::vector<char>(n)};
    for (std::size_t half = 0; half < 2; ++half) {
        const std::optional<AstigmaticFit> fitted = fit_half(slices, widths, 1 - half, pixel_size_nm);
        if (!fitted) return {};
        Psf psf{PsfModel::AstigmaticXYZNB, 0, in_nm(fitted->curve)};
        psf.curve.roi_size = rois.size, psf.curve.pixel_size_nm = pixel_size_nm;
        psf.curve.z_min_nm = found.z_min_nm - um_to_nm(fitted->z_middle_um);
        psf.curve.z_max_nm = found.z_max_nm - um_to_nm(fitted->z_middle_um);
        const Fits fits = fit_on_cpu(rois, psf, pixel_size_nm);
        for (std::size_t k = 0; k < n; ++k) {
            if (slices[k].half != half) continue;
            out.converged[k] = fits.status[k] == FitStatus::converged;
            out.z_error_nm[k] = um_to_nm(fits.theta[4][k] + fitted->z_middle_um) - slices[k].z_nm;
            out.deviance[k] = -2 * fits.log_likelihood_ratio[k], out.p_value[k] = fits.p_value[k];
        }
    }
    return out;
}

void subtract_medians(const std::vector<ComparedSlice>& slices, GaussianFits& fits) {
    std::map<std::size_t, std::vector<double>> errors;
    for (std::size_t k = 0; k < slices.size(); ++k)
        if (fits.converged[k]) errors[slices[k].spline->bead].push_back(fits.z_error_nm[k]);
    std::map<std::size_t, double> medians;
    for (const auto& [bead, of_bead] : errors) medians[bead] = median(of_bead);
    for (std::size_t k = 0; k < slices.size(); ++k) fits.z_error_nm[k] -= medians[slices[k].spline->bead];
}

}  // namespace

std::optional<PsfGaussianErrors> compare_gaussian(const BeadSet& beads, const HeldOut& held_out,
                                                  const PsfCalibration& found) {
    if (found.fit_roi_size > max_roi_size) return {};
    const std::vector<ComparedSlice> slices = list_slices(beads, held_out, found);
    std::optional<GaussianFits> fits;
    try {
        fits = fit_gaussians(cut_slices(beads, slices, found.fit_roi_size), slices, found);
    } catch (const OptionError&) {  // a curve that is no lens, such as one with a width below a nanometre
    }
    if (!fits) return {};
    subtract_medians(slices, *fits);
    PsfGaussianErrors out;
    double compared = 0, wrong = 0, spline_squares = 0, difference_squares = 0;
    for (std::size_t k = 0; k < slices.size(); ++k) {
        const HeldOutFit& spline = *slices[k].spline;
        const double cut = compared_from_end * spline.fit.crlb[fit_z];
        if (spline.z_nm < found.z_min_nm + cut || spline.z_nm > found.z_max_nm - cut) continue;
        ++compared;
        if (!fits->converged[k] || std::abs(fits->z_error_nm[k]) >= max_right_nm) {
            ++wrong;
            continue;
        }
        ++out.fits;
        const double difference = fits->deviance[k] - spline.fit.deviance;
        out.z_rms_nm += std::pow(fits->z_error_nm[k], 2), spline_squares += std::pow(spline.z_error_nm, 2);
        out.deviance += fits->deviance[k] / spline.fit.degrees_of_freedom, out.good_p += fits->p_value[k] > 0.01;
        out.added_deviance += difference, difference_squares += difference * difference;
    }
    if (out.fits < 2) return {};
    const double n = out.fits;
    for (double* sum : {&out.z_rms_nm, &out.deviance, &out.good_p, &out.added_deviance}) *sum /= n;
    out.z_rms_nm = std::sqrt(out.z_rms_nm), out.wrong = wrong / compared;
    const double spread = std::max(0.0, difference_squares / n - std::pow(out.added_deviance, 2));
    out.added_deviance_error = std::sqrt(spread / n);
    const double max_wrong =
        max_wrong_share * compared + compared_errors * std::sqrt(std::max(1.0, max_wrong_share * compared));
    const double max_rms = std::sqrt(spline_squares / n) * (1 + compared_errors / std::sqrt(n));
    const double min_good_p = exact_good_p - compared_errors * std::sqrt(exact_good_p * (1 - exact_good_p) / n);
    out.suffices = out.good_p >= min_good_p && out.added_deviance <= compared_errors * out.added_deviance_error &&
                   out.z_rms_nm <= max_rms && wrong <= max_wrong;
    return out;
}

}  // namespace glint::lens
