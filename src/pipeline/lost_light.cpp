// Photometry of lone spots in an aperture: the window, with its rim as the sky.
// SPDX-License-Identifier: MIT
#include "pipeline/lost_light.hpp"

#include <cstddef>

#include "base/median.hpp"

namespace glint {
namespace {

/// A sum over the window's pixels, and one over its rim.
struct ApertureSums {
    double light = 0, rim_light = 0;
    int count = 0, rim_count = 0;
    void add(double value, bool is_rim) {
        light += value, ++count;
        if (is_rim) rim_light += value, ++rim_count;
    }
    double above_rim() const { return light - count * (rim_light / rim_count); }
};

}  // namespace

void LostLight::add(const JointPixels& pixels, const Emitter& spot) {
    if (!(spot.theta[2] > 0) || pixels.width < 3 || pixels.height < 3) return;
    std::vector<double> model(std::size_t(pixels.width) * std::size_t(pixels.height));
    psf_.add_photons(spot.theta.data(), pixels.left, pixels.top, pixels.width, pixels.height, model.data());
    const auto data = pixels[JointPlane::data], known = pixels[JointPlane::known],
               per_photon = pixels[JointPlane::per_photon];
    ApertureSums measured, expected;
    for (int y = 0; y < pixels.height; ++y)
        for (int x = 0; x < pixels.width; ++x) {
            const std::size_t p = pixels.at(pixels.left + x, pixels.top + y);
            if (!(per_photon[p] > 0)) continue;
            const bool is_rim = x == 0 || y == 0 || x == pixels.width - 1 || y == pixels.height - 1;
            measured.add((double(data[p]) - double(known[p])) / double(per_photon[p]), is_rim);
            expected.add(model[std::size_t(y) * std::size_t(pixels.width) + std::size_t(x)], is_rim);
        }
    if (2 * measured.count < pixels.width * pixels.height || measured.rim_count == 0) return;
    excess_.push_back((measured.above_rim() - expected.above_rim()) / spot.theta[2]);
}

double LostLight::share() const {
    if (excess_.size() < 5) return 0;
    const double excess = median(excess_);
    return excess / (1 + excess);
}

double LostLight::error() const {
    if (excess_.size() < 5) return 0;
    const double excess = median(excess_);
    return error_of_median(excess_, excess) / ((1 + excess) * (1 + excess));
}

}  // namespace glint
