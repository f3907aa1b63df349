// The tables of fit/goodness.hpp for one pixel at a time.
// SPDX-License-Identifier: MIT
#define GLINT_ISA one_pixel
#define GLINT_SCALAR_LANE 1
#include "fit/group_goodness.hpp"

#include "fit/goodness.hpp"

namespace glint {

void GroupGoodness::add(double data, double model, double variance) {
    using one_pixel::PixelNoise;
    one_pixel::Goodness sum;
    const float d = float(data), m = float(model), v = float(variance);
    switch (noise_) {
        case PixelNoiseKind::ideal: one_pixel::add_pixel<PixelNoise::ideal, false>(sum, d, m, v); break;
        case PixelNoiseKind::poisson: one_pixel::add_pixel<PixelNoise::poisson, false>(sum, d, m, v); break;
        case PixelNoiseKind::multiplied: one_pixel::add_pixel<PixelNoise::multiplied, false>(sum, d, m, v); break;
    }
    half_deviance_ += sum.half_deviance, mean_ += sum.mean, variance_ += sum.variance;
    ++pixels_;
}

double GroupGoodness::p_value(std::size_t parameters) const {
    return one_pixel::p_value({float(half_deviance_), float(mean_), float(variance_)}, float(pixels_),
                              float(parameters));
}

}  // namespace glint
