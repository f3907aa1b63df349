// The pixel-integrated Gaussian: products of differences of erf.
// SPDX-License-Identifier: MIT
#include "simulate/spot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "glint/error.hpp"

namespace glint {
namespace {

/// The pixels [first, first + fractions.size()) along one axis that a spot reaches, and its share in each.
struct Profile {
    int first = 0;
    std::vector<double> fractions;

    void set(double centre, double sigma, int pixels) {
        constexpr double reach = 6;
        first = int(std::clamp(std::floor(centre - reach * sigma), 0.0, double(pixels)));
        const int last = int(std::clamp(std::ceil(centre + reach * sigma), -1.0, double(pixels - 1)));
        fractions.resize(std::size_t(std::max(last - first + 1, 0)));
        const double scale = 1 / (std::numbers::sqrt2 * sigma);
        double below = std::erf((first - 0.5 - centre) * scale);
        for (std::size_t i = 0; i < fractions.size(); ++i) {
            const double above = std::erf((first + double(i) + 0.5 - centre) * scale);
            fractions[i] = (above - below) / 2;
            below = above;
        }
    }
};

}  // namespace

Spot make_spot(const Psf& psf, double pixel_size_um, double x_px, double y_px, double z_um, double photons) {
    if (psf.model != PsfModel::AstigmaticXYZNB) {
        const double sigma_px = psf.sigma_um / pixel_size_um;
        return {x_px, y_px, photons, sigma_px, sigma_px};
    }
    return {x_px, y_px, photons, psf.curve.sigma_x_um(z_um) / pixel_size_um,
            psf.curve.sigma_y_um(z_um) / pixel_size_um};
}

void add_spot(const Spot& spot, int width, int height, std::span<double> image) {
    thread_local Profile across, down;  // keep their capacity: a frame holds many spots
    across.set(spot.x_px, spot.sigma_x_px, width);
    down.set(spot.y_px, spot.sigma_y_px, height);
    for (std::size_t j = 0; j < down.fractions.size(); ++j) {
        const double row_photons = spot.photons * down.fractions[j];
        double* row = image.data() + (std::size_t(down.first) + j) * width + across.first;
        for (std::size_t i = 0; i < across.fractions.size(); ++i) row[i] += row_photons * across.fractions[i];
    }
}

void require_psf(const Psf& psf, double pixel_size_um) {
    const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
    if (!positive(pixel_size_um))
        throw OptionError(fmt::format("a pixel size of {} nm: give it as in --pixel-size 100nm", pixel_size_um * 1000));
    if (psf.model == PsfModel::AstigmaticXYZNB) {
        if (!positive(psf.curve.sx0_um) || !positive(psf.curve.sy0_um) || !positive(psf.curve.d_um))
            throw OptionError("AstigmaticXYZNB needs its calibration (sx0, sy0 and d above zero): --calibration FILE");
    } else if (!positive(psf.sigma_um)) {
        throw OptionError(fmt::format("{} needs a width: --sigma 130nm", name_of(psf.model)));
    }
}

}  // namespace glint
