// The reference fit: plain loops, numerical derivatives, and steps that are accepted only if the likelihood increases.
// SPDX-License-Identifier: MIT
#include "fit/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "psf/in_double.hpp"

namespace glint {
namespace {

constexpr double model_floor = 0.01;  // as in the kernel: mu' > 0

using Matrix = std::array<std::array<double, max_parameters>, max_parameters>;

/// Returns the molecule's expected photoelectrons per pixel, without background: eq. 1.2, or the model's own rows if it
/// is not a product of Gaussians.
std::vector<double> picture(const PsfInDouble& psf, int size, const Parameters& theta) {
    std::vector<double> light(std::size_t(size) * size, 0.0);
    if (!psf.separable()) {
        psf.add_photons(theta.data(), 0, 0, size, size, light.data());
        return light;
    }
    const PsfWidths widths = psf.widths(theta.data() + 4);
    const auto share = [](int i, double center, double width) {
        const auto below = [&](double edge) { return std::erf((edge - center) / (std::numbers::sqrt2 * width)) / 2; };
        return below(i + 0.5) - below(i - 0.5);
    };
    std::vector<double> along, down;
    for (int i = 0; i < size; ++i) along.push_back(share(i, theta[0], widths.x_px));
    for (int j = 0; j < size; ++j) down.push_back(share(j, theta[1], widths.y_px));
    for (std::size_t p = 0; p < light.size(); ++p) light[p] = theta[2] * along[p % size] * down[p / size];
    return light;
}

/// Returns central differences of the picture by parameter k: x, y, photons or a shape parameter.
std::vector<double> slope(const PsfInDouble& psf, int size, Parameters theta, int k) {
    const double at = theta[k], h = 1e-4 * std::max(std::abs(at), 0.1);
    theta[k] = at + h;
    std::vector<double> above = picture(psf, size, theta);
    theta[k] = at - h;
    const std::vector<double> below = picture(psf, size, theta);
    for (std::size_t p = 0; p < above.size(); ++p) above[p] = (above[p] - below[p]) / (2 * h);
    return above;
}

struct Evaluation {
    double half_deviance = 0;  // -LLR
    bool legal = true;         // every pixel's model at or above the floor
    Parameters gradient{};
    Matrix fisher{};
};

Evaluation evaluate(const ReferenceRoi& roi, const Psf& psf, double pixel_size_nm, const Parameters& theta) {
    Evaluation out;
    const int n = parameter_count(psf.model);
    const double middle = 0.5 * (roi.size - 1);
    const PsfInDouble model = PsfInDouble(psf, pixel_size_nm).at(middle, middle);
    const std::vector<double> light = picture(model, roi.size, theta);
    std::array<std::vector<double>, max_parameters> slopes;
    for (int k = 0; k < n; ++k)
        slopes[k] = k == 3 ? std::vector<double>(light.size(), 1.0) : slope(model, roi.size, theta, k);
    for (std::size_t p = 0; p < light.size(); ++p) {
        const double f2 = roi.excess_noise / (roi.qe.empty() ? 1 : roi.qe[p]);
        const double known = roi.variance[p] / (f2 * f2) + (roi.additive.empty() ? 0 : roi.additive[p] / f2);
        const double d = std::max(0.0, roi.photoelectrons[p] / f2 + roi.variance[p] / (f2 * f2));
        const double mu = (theta[3] + light[p]) / f2 + known;
        if (mu < model_floor) out.legal = false;
        const double m = std::max(mu, model_floor);
        out.half_deviance += m - d + (d > 0 ? d * std::log(d / m) : 0);
        for (int k = 0; k < n; ++k) {
            out.gradient[k] += (d / m - 1) * slopes[k][p] / f2;
            for (int q = 0; q < n; ++q) out.fisher[k][q] += slopes[k][p] * slopes[q][p] / (f2 * f2 * m);
        }
    }
    return out;
}

/// Inverts the leading n x n part by Gauss-Jordan elimination, after scaling to a unit diagonal. Returns false if it is
/// singular.
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

bool inside(const Psf& psf, double pixel_size_nm, int size, double f2, const Parameters& theta) {
    const auto position = [&](double x) { return x >= -1.5 && x <= size + 0.5; };
    if (!position(theta[0]) || !position(theta[1]) || theta[2] < f2) return false;
    return PsfInDouble(psf, pixel_size_nm).allows(theta.data() + 4, {0.3, double(size)});
}

}  // namespace

ReferenceFit reference_fit(const ReferenceRoi& roi, const Psf& psf, double pixel_size_nm, const Parameters& start) {
    const int n = parameter_count(psf.model);
    ReferenceFit fit;
    fit.theta = start;
    Evaluation now = evaluate(roi, psf, pixel_size_nm, fit.theta);
    double lambda = 1e-3;
    for (int iteration = 0; iteration < 2000 && !fit.converged && lambda < 1e12; ++iteration) {
        bool possible = false;
        const Parameters next = moved(fit.theta, now, n, lambda, possible);
        if (!possible || !inside(psf, pixel_size_nm, roi.size, roi.excess_noise, next)) {
            lambda *= 10;
            continue;
        }
        const Evaluation then = evaluate(roi, psf, pixel_size_nm, next);
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
    fit.crlb = reference_crlb(roi, psf, pixel_size_nm, fit.theta);
    return fit;
}

Parameters reference_crlb(const ReferenceRoi& roi, const Psf& psf, double pixel_size_nm, const Parameters& theta) {
    Matrix inverse{};
    Parameters crlb{};
    if (!invert(evaluate(roi, psf, pixel_size_nm, theta).fisher, parameter_count(psf.model), inverse)) return crlb;
    for (int k = 0; k < parameter_count(psf.model); ++k) crlb[k] = std::sqrt(inverse[k][k]);
    return crlb;
}

}  // namespace glint
