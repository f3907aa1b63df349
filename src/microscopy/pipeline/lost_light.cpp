// Aperture photometry of lone spots, with the window's corners as the sky.
// SPDX-License-Identifier: MIT
#include "pipeline/lost_light.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/median.hpp"

namespace glint {
namespace {

/// Radii of the aperture and of the sky, relative to half the window. A larger aperture contains slightly more of the
/// tails, and a smaller sky slightly less, but both are far noisier.
constexpr double aperture_share = 0.65, sky_share = 0.85;

/// Sums of the light in the aperture and in the sky.
struct Photometry {
    double light = 0, sky = 0;
    int light_pixels = 0, sky_pixels = 0;
    double sky_mean() const { return sky / sky_pixels; }
    double above_sky() const { return light - light_pixels * sky_mean(); }
};

}  // namespace

void LostLight::add(const JointPixels& pixels, const Emitter& spot, std::span<const Emitter> others) {
    const double photons = spot.theta[2];
    if (!(photons > 0)) return;
    std::vector<double> model(std::size_t(pixels.width) * std::size_t(pixels.height));
    psf_.add_photons(spot.theta.data(), pixels.left, pixels.top, pixels.width, pixels.height, model.data());
    const auto data = pixels[JointPlane::data], known = pixels[JointPlane::known],
               per_photon = pixels[JointPlane::per_photon];
    const double half = 0.5 * std::min(pixels.width, pixels.height);
    Window window{.pixels = {}, .beside = {}, .aperture_px = aperture_share * half, .sky_px = sky_share * half};
    std::size_t light_pixels = 0, sky_pixels = 0;
    for (int y = 0; y < pixels.height; ++y)
        for (int x = 0; x < pixels.width; ++x) {
            const double at_x = pixels.left + x, at_y = pixels.top + y;
            const std::size_t p = pixels.at(pixels.left + x, pixels.top + y);
            if (!(per_photon[p] > 0)) continue;
            const double light = (double(data[p]) - double(known[p])) / double(per_photon[p]) -
                                 model[std::size_t(y) * std::size_t(pixels.width) + std::size_t(x)];
            const double r = std::hypot(at_x - spot.theta[0], at_y - spot.theta[1]);
            for (const Emitter& other : others) {
                const double from_other = std::hypot(at_x - other.theta[0], at_y - other.theta[1]);
                if (from_other < window.sky_px)
                    window.beside.push_back({window.pixels.size(), std::size_t(from_other), other.theta[2] / photons});
            }
            window.pixels.push_back({light / photons, r});
            light_pixels += r<window.aperture_px, sky_pixels += r> window.sky_px;
        }
    if (2 * window.pixels.size() < model.size() || sky_pixels < light_pixels / 2 || light_pixels == 0) return;
    windows_.push_back(std::move(window));
}

/// Returns the light of each pixel without the tails of other molecules.
std::vector<double> LostLight::light_of(const Window& window, const Tail& tail) {
    std::vector<double> light;
    light.reserve(window.pixels.size());
    for (const Pixel& pixel : window.pixels) light.push_back(pixel.light);
    for (const Beside& one : window.beside)
        if (one.steps < tail.size()) light[one.pixel] -= one.photons * tail[one.steps];
    return light;
}

namespace {

template <class Window>
Photometry photometry_of(const Window& window, const std::vector<double>& light) {
    Photometry sums;
    for (std::size_t k = 0; k < light.size(); ++k) {
        if (window.pixels[k].from_px < window.aperture_px) sums.light += light[k], ++sums.light_pixels;
        if (window.pixels[k].from_px > window.sky_px) sums.sky += light[k], ++sums.sky_pixels;
    }
    return sums;
}

}  // namespace

/// Returns the spots' own tails, given the tail of the molecules beside them.
LostLight::Tail LostLight::tail_beside(const Tail& tail) const {
    std::vector<std::vector<double>> of_spots;  // by distance
    for (const Window& window : windows_) {
        const std::vector<double> light = light_of(window, tail);
        const double sky = photometry_of(window, light).sky_mean();
        std::vector<double> sums(std::size_t(window.sky_px)), counts(sums.size());
        for (std::size_t k = 0; k < light.size(); ++k) {
            const auto step = std::size_t(window.pixels[k].from_px);
            if (step < sums.size()) sums[step] += light[k] - sky, ++counts[step];
        }
        of_spots.resize(std::max(of_spots.size(), sums.size()));
        for (std::size_t step = 0; step < sums.size(); ++step)
            if (counts[step] > 0) of_spots[step].push_back(sums[step] / counts[step]);
    }
    Tail own;
    for (const std::vector<double>& values : of_spots) own.push_back(values.empty() ? 0 : median(values));
    return own;
}

LostLight::Estimate LostLight::measure() const {
    constexpr int passes = 3;
    if (windows_.size() < 5) return {};
    // Other molecules have the same tails as the spots. In crowded frames these tails are much of the light in between.
    Tail tail;
    for (int pass = 0; pass < passes; ++pass) tail = tail_beside(tail);
    std::vector<double> excess;
    for (const Window& window : windows_) excess.push_back(photometry_of(window, light_of(window, tail)).above_sky());
    const double middle = median(excess);
    return {middle / (1 + middle), error_of_median(excess, middle) / ((1 + middle) * (1 + middle))};
}

}  // namespace glint
