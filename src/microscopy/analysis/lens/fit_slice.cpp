// Levenberg-Marquardt on the Poisson deviance, with the Fisher matrix.
// SPDX-License-Identifier: MIT
#include "analysis/lens/fit_slice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/lens/p_value.hpp"

namespace glint::lens {
namespace {

constexpr double model_floor = 0.01;      // as in the kernel: mu' > 0
constexpr double template_step_nm = 100;  // at most
constexpr double template_offset_px = 0.3;
constexpr double min_start_distance_nm = 250;
constexpr int max_iterations = 100;
constexpr double tolerance = 1e-3;  // of a parameter's standard deviation
constexpr double max_step_px = 0.7, max_step_nm = 150;

using Theta = std::array<double, slice_parameters>;
using Matrix = std::array<Theta, slice_parameters>;

/// Inverse of a symmetric matrix by Gauss-Jordan elimination, after scaling to a unit diagonal; false if singular.
bool invert(const Matrix& a, Matrix& inverse) {
    constexpr int n = slice_parameters;
    double w[n][2 * n] = {};
    for (int r = 0; r < n; ++r) {
        if (!(a[r][r] > 0)) return false;
        for (int c = 0; c < n; ++c) w[r][c] = a[r][c] / std::sqrt(a[r][r] * a[c][c]);
        w[r][n + r] = 1;
    }
    for (int k = 0; k < n; ++k) {  // positive definite: no pivots needed
        const double pivot = w[k][k];
        if (!(pivot > 1e-12)) return false;
        for (double& cell : w[k]) cell /= pivot;
        for (int r = 0; r < n; ++r) {
            const double factor = w[r][k];
            for (int c = 0; r != k && c < 2 * n; ++c) w[r][c] -= factor * w[k][c];
        }
    }
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) inverse[r][c] = w[r][n + c] / std::sqrt(a[r][r] * a[c][c]);
    return true;
}

}  // namespace

/// The pixels of a slice in the units of eq. 2.2.
struct SliceFitter::Pixels {
    std::vector<double> data, known, f;  ///< d', v / f^2 and f
    std::vector<double> photoelectrons;
    DevianceOf noise = DevianceOf::poisson;
};

struct SliceFitter::Evaluation {
    double half_deviance = 0;
    Theta gradient{};
    Matrix fisher{};
    double moment_mean = 0, moment_variance = 0;  ///< only if asked for
    std::array<std::vector<double>, 4> h;
};

void SliceFitter::images(double x_px, double y_px, double z_nm, std::array<std::vector<double>, 4>& out) const {
    const SplineGrid& grid = spline_.grid;
    const std::size_t n = std::size_t(grid.nxy()), edge = std::size_t(window_), s = std::size_t(grid.samples);
    const double half = 0.5 * (window_ - 1);
    const int starts = grid.nxy() - grid.samples * (window_ - 1);  // of which the last pixel is inside of the grid
    const CubicTaps x = cubic_taps(grid.samples * (-half - x_px) + grid.middle(), starts),
                    y = cubic_taps(grid.samples * (-half - y_px) + grid.middle(), starts),
                    z = cubic_taps(grid.w_at(z_nm), grid.nz);
    const std::size_t height = s * (edge - 1) + 4;
    std::vector<double> value(height * height), slope(height * height);
    for (std::size_t j = 0; j < height; ++j)
        for (std::size_t i = 0; i < height; ++i) {
            const float* at = spline_.coefficients.data() + std::size_t(z.first) * grid.plane() +
                              (j + std::size_t(y.first)) * n + i + std::size_t(x.first);
            double sum = 0, along = 0;
            for (std::size_t t = 0; t < 4; ++t)
                sum += z.weights[t] * at[t * grid.plane()], along += z.slopes[t] * at[t * grid.plane()];
            value[j * height + i] = sum, slope[j * height + i] = along;
        }
    const double by_px = -grid.samples, by_nm = 1 / grid.knot_nm();
    for (auto& image : out) image.resize(edge * edge);
    std::vector<double> row(height), row_y(height), row_z(height);
    for (std::size_t j = 0; j < edge; ++j) {
        for (std::size_t i = 0; i < height; ++i) {
            double sum = 0, along_y = 0, along_z = 0;
            for (std::size_t t = 0; t < 4; ++t) {
                const std::size_t at = (j * s + t) * height + i;
                sum += y.weights[t] * value[at], along_y += y.slopes[t] * value[at],
                    along_z += y.weights[t] * slope[at];
            }
            row[i] = sum, row_y[i] = along_y, row_z[i] = along_z;
        }
        for (std::size_t i = 0; i < edge; ++i) {
            double h = 0, hx = 0, hy = 0, hz = 0;
            for (std::size_t t = 0; t < 4; ++t) {
                const std::size_t at = i * s + t;
                h += x.weights[t] * row[at], hx += x.slopes[t] * row[at];
                hy += x.weights[t] * row_y[at], hz += x.weights[t] * row_z[at];
            }
            const std::size_t p = j * edge + i;
            out[0][p] = h, out[1][p] = by_px * hx, out[2][p] = by_px * hy, out[3][p] = by_nm * hz;
        }
    }
}

SliceFitter::SliceFitter(const Spline& spline, int window) : spline_(spline), window_(window) {
    const SplineGrid& grid = spline.grid;
    const double range = grid.z_max_nm - grid.z_min_nm;
    const int count = 1 + int(std::ceil(range / template_step_nm));
    std::array<std::vector<double>, 4> h;
    for (int k = 0; k < count; ++k)
        for (const double y : {-template_offset_px, template_offset_px})
            for (const double x : {-template_offset_px, template_offset_px}) {
                const double z = grid.z_min_nm + range * (k + 0.5) / count;
                images(x, y, z, h);
                std::vector<double> values = h[0];
                double mean = 0, squares = 0;
                for (const double value : values) mean += value / double(values.size());
                for (double& value : values) value -= mean, squares += value * value;
                for (double& value : values) value /= std::sqrt(std::max(squares, 1e-300));
                templates_.push_back({x, y, z, std::move(values)});
            }
}

void SliceFitter::evaluate(const Pixels& pixels, const Theta& theta, Evaluation& out) const {
    images(theta[fit_x], theta[fit_y], theta[fit_z], out.h);
    out.half_deviance = 0, out.gradient = {}, out.fisher = {};
    for (std::size_t p = 0; p < pixels.data.size(); ++p) {
        const double f = pixels.f[p], d = pixels.data[p];
        const double mean = (theta[fit_photons] * out.h[0][p] + theta[fit_background]) / f + pixels.known[p];
        const double m = std::max(mean, model_floor);
        out.half_deviance += m - d + (d > 0 ? d * std::log(d / m) : 0);
        const double n = theta[fit_photons] / f;
        if (mean < model_floor) continue;  // the model is constant there
        const Theta slopes{n * out.h[1][p], n * out.h[2][p], n * out.h[3][p], out.h[0][p] / f, 1 / f};
        const double pull = d / m - 1;
        for (std::size_t a = 0; a < std::size_t(slice_parameters); ++a) {
            out.gradient[a] += pull * slopes[a];
            for (std::size_t b = 0; b <= a; ++b) out.fisher[a][b] += slopes[a] * slopes[b] / m;
        }
    }
    for (std::size_t a = 0; a < std::size_t(slice_parameters); ++a)
        for (std::size_t b = 0; b < a; ++b) out.fisher[b][a] = out.fisher[a][b];
}

SliceFit SliceFitter::fit_from(const Pixels& pixels, const Template& start) const {
    const SplineGrid& grid = spline_.grid;
    SliceFit fit;
    std::array<std::vector<double>, 4> h;
    images(start.x_px, start.y_px, start.z_nm, h);
    double sh = 0, sd = 0, shh = 0, shd = 0;  // photons and background by linear least squares
    const double count = double(h[0].size());
    for (std::size_t p = 0; p < h[0].size(); ++p) {
        const double e = pixels.photoelectrons[p];
        sh += h[0][p], sd += e, shh += h[0][p] * h[0][p], shd += h[0][p] * e;
    }
    const double spread = shh - sh * sh / count;
    const double photons = std::max(1.0, spread > 0 ? (shd - sh * sd / count) / spread : 0.0);
    Theta theta{start.x_px, start.y_px, start.z_nm, photons, std::max(0.0, (sd - photons * sh) / count)};
    Evaluation now, then;
    evaluate(pixels, theta, now);
    double lambda = 1e-3;
    Matrix inverse{};
    for (int step = 0; step < max_iterations && !fit.converged && lambda < 1e10; ++step) {
        Matrix damped = now.fisher;
        for (std::size_t k = 0; k < std::size_t(slice_parameters); ++k) damped[k][k] *= 1 + lambda;
        if (!invert(damped, inverse)) {
            lambda *= 10;
            continue;
        }
        Theta next = theta;
        for (std::size_t k = 0; k < std::size_t(slice_parameters); ++k) {
            double move = 0;
            for (std::size_t q = 0; q < std::size_t(slice_parameters); ++q) move += inverse[k][q] * now.gradient[q];
            const double limit = k == fit_z ? max_step_nm : k < fit_z ? max_step_px : 1e300;
            next[k] += std::clamp(move, -limit, limit);
        }
        const double offset = grid.max_offset_px();
        next[fit_x] = std::clamp(next[fit_x], -offset, offset);
        next[fit_y] = std::clamp(next[fit_y], -offset, offset);
        next[fit_z] = std::clamp(next[fit_z], grid.z_min_nm, grid.z_max_nm);
        next[fit_photons] = std::max(next[fit_photons], 1.0);
        double longest = 0;
        for (std::size_t k = 0; k < std::size_t(slice_parameters); ++k)
            longest = std::max(longest, std::abs(next[k] - theta[k]) * std::sqrt(now.fisher[k][k]));
        evaluate(pixels, next, then);
        fit.converged = longest < tolerance && lambda < 1;
        if (then.half_deviance > now.half_deviance + 1e-9) {
            lambda *= 10;
            continue;
        }
        theta = next;
        std::swap(now, then);
        lambda = std::max(lambda / 10, 1e-9);
    }
    fit.theta = theta;
    if (invert(now.fisher, inverse))
        for (std::size_t k = 0; k < std::size_t(slice_parameters); ++k)
            fit.crlb[k] = std::sqrt(std::max(inverse[k][k], 0.0));
    else
        fit.converged = false;
    if (theta[fit_z] <= grid.z_min_nm || theta[fit_z] >= grid.z_max_nm) fit.converged = false;
    double mean = -slice_parameters, variance = -2.0 * slice_parameters;
    for (std::size_t p = 0; p < pixels.data.size(); ++p) {
        const double m = (theta[fit_photons] * now.h[0][p] + theta[fit_background]) / pixels.f[p] + pixels.known[p];
        const DevianceMoments moments = deviance_moments(pixels.noise, std::max(m, model_floor), pixels.known[p]);
        mean += moments.mean, variance += moments.variance;
    }
    fit.deviance = 2 * now.half_deviance;
    fit.degrees_of_freedom = std::max(mean, 1.0);
    fit.p_value = p_value_of_deviance(fit.deviance, mean, variance);
    return fit;
}

SliceFit SliceFitter::fit(const BeadWindow& bead, std::size_t slice) const {
    Pixels pixels;
    const int margin = (bead.size - window_) / 2;
    bool has_read_noise = false, is_multiplied = false;
    for (int j = margin; j < margin + window_; ++j)
        for (int i = margin; i < margin + window_; ++i) {
            const std::size_t p = std::size_t(j) * std::size_t(bead.size) + std::size_t(i);
            const double f = bead.shot_noise[p], v = bead.read_variance[p], e = bead.slice(slice)[p];
            pixels.photoelectrons.push_back(e), pixels.f.push_back(f);
            pixels.known.push_back(v / (f * f)), pixels.data.push_back(std::max(0.0, e / f + v / (f * f)));
            has_read_noise |= v > 0, is_multiplied |= f >= 1.5;
        }
    pixels.noise = is_multiplied    ? DevianceOf::em_register
                   : has_read_noise ? DevianceOf::poisson_with_read_noise
                                    : DevianceOf::poisson;
    std::vector<double> scores;
    for (const Template& each : templates_) {
        double score = 0;
        for (std::size_t p = 0; p < each.values.size(); ++p) score += each.values[p] * pixels.photoelectrons[p];
        scores.push_back(score);
    }
    const std::size_t best = std::size_t(std::max_element(scores.begin(), scores.end()) - scores.begin());
    std::size_t second = best;
    double second_score = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < scores.size(); ++k)
        if (std::abs(templates_[k].z_nm - templates_[best].z_nm) >= min_start_distance_nm && scores[k] > second_score)
            second = k, second_score = scores[k];
    SliceFit fit = fit_from(pixels, templates_[best]);
    if (second == best) return fit;
    SliceFit other = fit_from(pixels, templates_[second]);
    return other.deviance < fit.deviance ? other : fit;
}

}  // namespace glint::lens
