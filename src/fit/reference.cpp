// The fit in double precision, with plain loops and the likelihood as the judge of every step.
// SPDX-License-Identifier: MIT
#include "fit/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace glint {
namespace {

constexpr double model_floor = 0.01;  // as the kernel's: mu' > 0

using Matrix = std::array<std::array<double, max_parameters>, max_parameters>;

/// E and its derivatives by center and width for pixel i (eq. 1.2).
struct Axis {
    double value, by_center, by_sigma;
};

Axis axis(int i, double center, double sigma) {
    const double low = (i - 0.5 - center) / sigma, high = (i + 0.5 - center) / sigma;
    const auto gauss = [](double t) { return std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi); };
    return {(std::erf(high / std::numbers::sqrt2) - std::erf(low / std::numbers::sqrt2)) / 2,
            (gauss(low) - gauss(high)) / sigma, (low * gauss(low) - high * gauss(high)) / sigma};
}

/// The widths in pixels and what the shape parameters do to them.
struct Shape {
    double sigma_x, sigma_y;
    std::array<double, 2> x_by, y_by;  // derivatives of sigma_x, sigma_y by parameters 4 and 5
};

Shape shape(const Psf& psf, double pixel_size_um, const Parameters& theta) {
    const double sigma = psf.sigma_um / pixel_size_um;
    switch (psf.model) {
        case PsfModel::GaussianXYNB: return {sigma, sigma, {0, 0}, {0, 0}};
        case PsfModel::GaussianXYNBS: return {theta[4], theta[4], {1, 0}, {1, 0}};
        case PsfModel::GaussianXYNBSXSY: return {theta[4], theta[5], {1, 0}, {0, 1}};
        case PsfModel::AstigmaticXYZNB: break;
    }
    const AstigmaticCurve& c = psf.curve;
    const double z = theta[4], h = 1e-6 * c.d_um;
    const auto slope = [&](double (AstigmaticCurve::*f)(double) const) {
        return ((c.*f)(z + h) - (c.*f)(z - h)) / (2 * h) / pixel_size_um;
    };
    return {c.sigma_x_um(z) / pixel_size_um,
            c.sigma_y_um(z) / pixel_size_um,
            {slope(&AstigmaticCurve::sigma_x_um), 0},
            {slope(&AstigmaticCurve::sigma_y_um), 0}};
}

struct Evaluation {
    double half_deviance = 0;  // -LLR
    bool legal = true;         // every pixel's model at or above the floor
    Parameters gradient{};
    Matrix fisher{};
};

Evaluation evaluate(const ReferenceRoi& roi, const Psf& psf, double pixel_size_um, const Parameters& theta) {
    Evaluation out;
    const int n = parameter_count(psf.model);
    const Shape s = shape(psf, pixel_size_um, theta);
    for (int j = 0; j < roi.size; ++j)
        for (int i = 0; i < roi.size; ++i) {
            const int p = j * roi.size + i;
            const double f2 = roi.excess_noise / (roi.qe.empty() ? 1 : roi.qe[p]);
            const Axis x = axis(i, theta[0], s.sigma_x), y = axis(j, theta[1], s.sigma_y);
            const double known = roi.variance[p] / (f2 * f2) + (roi.additive.empty() ? 0 : roi.additive[p] / f2);
            const double d = std::max(0.0, roi.photoelectrons[p] / f2 + roi.variance[p] / (f2 * f2));
            const double mu = (theta[3] + theta[2] * x.value * y.value) / f2 + known;
            if (mu < model_floor) out.legal = false;
            const double m = std::max(mu, model_floor);
            out.half_deviance += m - d + (d > 0 ? d * std::log(d / m) : 0);
            Parameters by{};
            by[0] = theta[2] * x.by_center * y.value / f2;
            by[1] = theta[2] * x.value * y.by_center / f2;
            by[2] = x.value * y.value / f2;
            by[3] = 1 / f2;
            for (int k = 4; k < n; ++k)
                by[k] = theta[2] * (x.by_sigma * s.x_by[k - 4] * y.value + x.value * y.by_sigma * s.y_by[k - 4]) / f2;
            for (int k = 0; k < n; ++k) {
                out.gradient[k] += (d / m - 1) * by[k];
                for (int q = 0; q < n; ++q) out.fisher[k][q] += by[k] * by[q] / m;
            }
        }
    return out;
}

/// Inverse by Gauss-Jordan of the leading n x n part, scaled to a unit diagonal first; false when singular.
bool invert(const Matrix& a, int n, Matrix& inverse) {
    double w[max_parameters][2 * max_parameters] = {};
    for (int r = 0; r < n; ++r) {
        if (!(a[r][r] > 0)) return false;
        for (int c = 0; c < n; ++c) w[r][c] = a[r][c] / std::sqrt(a[r][r] * a[c][c]);
        w[r][n + r] = 1;
    }
    for (int k = 0; k < n; ++k) {
        int best = k;
        for (int r = k + 1; r < n; ++r)
            if (std::abs(w[r][k]) > std::abs(w[best][k])) best = r;
        if (std::abs(w[best][k]) < 1e-10) return false;
        std::swap(w[k], w[best]);
        const double pivot = w[k][k];
        for (double& cell : w[k]) cell /= pivot;
        for (int r = 0; r < n; ++r) {
            if (r == k) continue;
            const double factor = w[r][k];
            for (int c = 0; c < 2 * n; ++c) w[r][c] -= factor * w[k][c];
        }
    }
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) inverse[r][c] = w[r][n + c] / std::sqrt(a[r][r] * a[c][c]);
    return true;
}

Parameters moved(const Parameters& theta, const Evaluation& at, int n, double lambda, bool& possible) {
    Matrix damped = at.fisher, inverse{};
    for (int k = 0; k < n; ++k) damped[k][k] *= 1 + lambda;
    possible = invert(damped, n, inverse);
    Parameters out = theta;
    for (int k = 0; possible && k < n; ++k)
        for (int q = 0; q < n; ++q) out[k] += inverse[k][q] * at.gradient[q];
    return out;
}

bool inside(const Psf& psf, int size, double f2, const Parameters& theta) {
    const auto position = [&](double x) { return x >= -1.5 && x <= size + 0.5; };
    if (!position(theta[0]) || !position(theta[1]) || theta[2] < f2) return false;
    if (psf.model == PsfModel::AstigmaticXYZNB) return theta[4] >= psf.curve.z_min_um && theta[4] <= psf.curve.z_max_um;
    for (int k = 4; k < parameter_count(psf.model); ++k)
        if (theta[k] < 0.3 || theta[k] > size) return false;
    return true;
}

}  // namespace

ReferenceFit reference_fit(const ReferenceRoi& roi, const Psf& psf, double pixel_size_um, const Parameters& start) {
    const int n = parameter_count(psf.model);
    ReferenceFit fit;
    fit.theta = start;
    Evaluation now = evaluate(roi, psf, pixel_size_um, fit.theta);
    double lambda = 1e-3;
    for (int iteration = 0; iteration < 2000 && !fit.converged && lambda < 1e12; ++iteration) {
        bool possible = false;
        const Parameters next = moved(fit.theta, now, n, lambda, possible);
        if (!possible || !inside(psf, roi.size, roi.excess_noise, next)) {
            lambda *= 10;
            continue;
        }
        const Evaluation then = evaluate(roi, psf, pixel_size_um, next);
        double longest = 0;
        for (int k = 0; k < n; ++k)
            longest = std::max(longest, std::abs(next[k] - fit.theta[k]) * std::sqrt(now.fisher[k][k]));
        if (longest < 1e-6 && lambda < 1) fit.converged = true;
        if (!then.legal || then.half_deviance > now.half_deviance) {
            lambda *= 10;
            continue;
        }
        fit.theta = next;
        now = then;
        lambda = std::max(lambda / 10, 1e-12);
    }
    fit.log_likelihood_ratio = -now.half_deviance;
    fit.crlb = reference_crlb(roi, psf, pixel_size_um, fit.theta);
    return fit;
}

Parameters reference_crlb(const ReferenceRoi& roi, const Psf& psf, double pixel_size_um, const Parameters& theta) {
    Matrix inverse{};
    Parameters crlb{};
    if (!invert(evaluate(roi, psf, pixel_size_um, theta).fisher, parameter_count(psf.model), inverse)) return crlb;
    for (int k = 0; k < parameter_count(psf.model); ++k) crlb[k] = std::sqrt(inverse[k][k]);
    return crlb;
}

}  // namespace glint
