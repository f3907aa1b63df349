// Reference implementation of the fit for tests of the kernel: double precision, written for clarity, pixel by pixel.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>

#include "glint/fits.hpp"
#include "glint/psf.hpp"

namespace glint {

/// One ROI: spans of size * size values, in photoelectrons and e-^2. `additive` (none) and `qe` (1) may be empty.
struct ReferenceRoi {
    int size = 0;
    std::span<const float> photoelectrons, variance, additive;
    double excess_noise = 1;  ///< F^2
    std::span<const float> qe = {};
};

using Parameters = std::array<double, max_parameters>;

struct ReferenceFit {
    Parameters theta{}, crlb{};  ///< units as in Fits; crlb: standard deviations
    double log_likelihood_ratio = 0;
    bool converged = false;
};

/// Runs Levenberg-Marquardt on the Fisher matrix from `start`. Accepts a step only if it raises the likelihood. Ends
/// when no parameter would change by more than 1e-6 of its CRLB (docs/explanation/theory.md, eq. 2.1 to 3.2).
ReferenceFit reference_fit(const ReferenceRoi& roi, const Psf& psf, double pixel_size_nm, const Parameters& start);

/// Returns the square roots of the CRLB at `theta` (eq. 3.4); zeros if the Fisher matrix is singular.
Parameters reference_crlb(const ReferenceRoi& roi, const Psf& psf, double pixel_size_nm, const Parameters& theta);

}  // namespace glint
