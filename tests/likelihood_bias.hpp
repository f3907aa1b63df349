// The first-order bias of maximum likelihood, for tests that compare fits with the truth (theory.md, section 3).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <vector>

#include "fit/reference.hpp"
#include "psf/in_double.hpp"

namespace glint::test {

/// The bias for a spot with known parameters. Its pixels are mu' = mean / F^2 + v / F^4 (theory.md, eq. 2.2).
class LikelihoodBias {
  public:
    LikelihoodBias(const ReferenceRoi& roi, const Psf& psf, double pixel_size_nm, const Parameters& truth)
        : roi_(roi), psf_(psf), pixel_size_nm_(pixel_size_nm), truth_(truth), n_(parameter_count(psf.model)) {
        crlb_ = reference_crlb(roi, psf, pixel_size_nm, truth);
    }

    /// The bias divided by the CRLB. Cox & Snell, J. R. Stat. Soc. B 30, 248 (1968): -1/2 I^-1 sum_k (dmu_k / mu_k)
    /// tr(I^-1 d2mu_k), which is valid for any noise with the variance mu, since the likelihood is linear in the data.
    Parameters in_crlb() const {
        const std::vector<double> mu = pixels({});
        std::array<std::vector<double>, max_parameters> slope;
        for (int r = 0; r < n_; ++r) slope[r] = difference(pixels({{r, step}}), pixels({{r, -step}}), 2 * step);
        Matrix information{};
        for (int r = 0; r < n_; ++r)
            for (int t = 0; t < n_; ++t)
                for (std::size_t k = 0; k < mu.size(); ++k) information[r][t] += slope[r][k] * slope[t][k] / mu[k];
        const Matrix inverse = inverse_of(information);
        std::vector<double> bend(mu.size(), 0.0);
        for (int t = 0; t < n_; ++t)
            for (int u = 0; u < n_; ++u) {
                const auto right =
                    difference(pixels({{t, step}, {u, step}}), pixels({{t, step}, {u, -step}}), 2 * step);
                const auto left =
                    difference(pixels({{t, -step}, {u, step}}), pixels({{t, -step}, {u, -step}}), 2 * step);
                const auto curvature = difference(right, left, 2 * step);
                for (std::size_t k = 0; k < mu.size(); ++k) bend[k] += inverse[t][u] * curvature[k];
            }
        Parameters bias{};
        for (int s = 0; s < n_; ++s)
            for (int r = 0; r < n_; ++r)
                for (std::size_t k = 0; k < mu.size(); ++k)
                    bias[s] -= 0.5 * inverse[s][r] * slope[r][k] / mu[k] * bend[k];
        return bias;
    }

  private:
    using Matrix = std::array<Parameters, max_parameters>;
    static constexpr double step = 0.1;  // CRLB

    /// Returns mu' with the parameters shifted by multiples of their CRLB.
    std::vector<double> pixels(const std::vector<std::pair<int, double>>& moves) const {
        Parameters theta = truth_;
        for (const auto& [k, by] : moves) theta[k] += by * crlb_[k];
        std::vector<double> mu(roi_.variance.size(), theta[3]);
        PsfInDouble(psf_, pixel_size_nm_).add_photons(theta.data(), 0, 0, roi_.size, roi_.size, mu.data());
        const double f2 = roi_.excess_noise;
        for (std::size_t k = 0; k < mu.size(); ++k) mu[k] = mu[k] / f2 + double(roi_.variance[k]) / (f2 * f2);
        return mu;
    }
    static std::vector<double> difference(std::vector<double> a, const std::vector<double>& b, double width) {
        for (std::size_t k = 0; k < a.size(); ++k) a[k] = (a[k] - b[k]) / width;
        return a;
    }
    /// Inverse of a positive definite matrix with a diagonal near 1, by Gauss-Jordan elimination.
    Matrix inverse_of(Matrix a) const {
        Matrix inverse{};
        for (int k = 0; k < n_; ++k) inverse[k][k] = 1;
        for (int k = 0; k < n_; ++k) {
            const double pivot = a[k][k];
            for (int c = 0; c < n_; ++c) a[k][c] /= pivot, inverse[k][c] /= pivot;
            for (int r = 0; r < n_; ++r) {
                const double factor = r == k ? 0 : a[r][k];
                for (int c = 0; c < n_; ++c) a[r][c] -= factor * a[k][c], inverse[r][c] -= factor * inverse[k][c];
            }
        }
        return inverse;
    }

    ReferenceRoi roi_;
    Psf psf_;
    double pixel_size_nm_;
    Parameters truth_, crlb_{};
    int n_;
};

}  // namespace glint::test
