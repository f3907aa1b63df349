// Simulates ROIs with known truth, fits them with an installed glint and checks the error against the CRLB.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdio>
#include <glint/fit.hpp>
#include <glint/simulate.hpp>

int main() {
    const double pixel_size_nm = 100;
    const glint::Psf psf{.model = glint::PsfModel::GaussianXYNB, .sigma_nm = 130};
    const glint::RoiSimulation simulation{.size = 7, .count = 20000};
    std::array<std::vector<float>, glint::max_parameters> truth;
    const glint::Rois rois = glint::simulate_rois(simulation, psf, pixel_size_nm, glint::Camera{}, truth);
    const glint::Fits fits = glint::fit(rois, psf, pixel_size_nm);

    // The error of x in units of the CRLB has spread 1; its sampling error is 1 / sqrt(2 n) = 0.5 %.
    double sum = 0;
    std::size_t converged = 0;
    for (std::size_t k = 0; k < fits.count(); ++k) {
        if (fits.status[k] != glint::FitStatus::converged) continue;
        sum += std::pow((fits.theta[0][k] - truth[0][k]) / fits.crlb[0][k], 2);
        ++converged;
    }
    const double spread = std::sqrt(sum / double(converged));
    std::printf("%zu of %zu fits converged; std(x) / CRLB = %.3f\n", converged, fits.count(), spread);
    return converged > 0.99 * double(fits.count()) && std::abs(spread - 1) < 0.03 ? 0 : 1;
}
