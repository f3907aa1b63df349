// Samples the noise between spots, and writes the warning if it contradicts the camera model.
// SPDX-License-Identifier: MIT
#include "detect/empty_noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace glint {
namespace {

static_assert(masked_variance == masked_variance_e2);
constexpr double wanted_samples = 1024;
/// Tolerance: a tenth for the camera's parameters, plus the statistical uncertainty of one frame, divided by sqrt(n)
/// for n frames.
constexpr double max_spread = 1.1, min_spread = 0.9, chance_up = 0.15, chance_down = 0.2;

constexpr double far_too_large = 10;

int grid_count(int length, int step) {
    return length <= 2 * noise_margin_px ? 0 : (length - 2 * noise_margin_px - 1) / step + 1;
}

/// Returns the spread for the reciprocal of the camera's gain, by which photoelectrons scale but shot noise does not. 0
/// if it is unknown.
double spread_with_reciprocal_gain(double spread, const Camera& camera, double background_e) {
    if (camera.has_maps()) return 0;
    const double gain = camera.gain_e_per_adu.scalar, scale = 1 / (gain * gain);
    const CameraView view(camera, 1, 1);
    const double shot = view.shot_noise() * background_e, read = view.variance_scalar();
    if (read == 0) return spread / gain;
    if (!(background_e > 0)) return 0;
    return spread * scale * std::sqrt((shot + read) / (shot * scale + read));
}

/// Returns a warning that the gain was inverted, if this explains the noise. Otherwise empty.
std::string inverted_gain(double spread, const Camera& camera, double background_e) {
    // An explanation of nearly all suffices. If detection uses the wrong noise, it misses dim spots, which then count
    // as noise. With an EMCCD's skewed noise, the background is only approximate.
    constexpr double rest_in_logarithm = 0.15;
    const double right = spread_with_reciprocal_gain(spread, camera, background_e);
    if (!(right > 0)) return "";
    const bool explains_all = right >= min_spread && right <= max_spread;
    if (!explains_all && std::abs(std::log(right)) >= rest_in_logarithm * std::abs(std::log(spread))) return "";
    // A missing EM gain leaves such a difference, too.
    const bool may_be_em = !explains_all && spread > 1 && camera.kind != CameraKind::EMCCD;
    const double gain = camera.gain_e_per_adu.scalar;
    return fmt::format(
        "the noise on empty regions is {:.2f} times what the camera model says, and a gain of {:.3g} would give "
        "{:.2f}: is {:.3g} in ADU per photoelectron{}? The gain is in photoelectrons per ADU. Photon numbers and "
        "uncertainties will be wrong",
        spread, 1 / gain, right, gain, may_be_em ? ", or is this an EMCCD whose EM gain is not given" : "");
}

/// Returns a warning that the background is below 0, which only an offset that is too high causes. Otherwise empty.
std::string offset_above_background(double spread, const Camera& camera, double background_e) {
    if (camera.has_maps()) return "";
    const double below_adu = -background_e / CameraView(camera, 1, 1).pixel(0).factor_e_per_adu;
    if (!(below_adu > 1)) return "";  // a median of whole counts may be off by one
    const double offset = camera.offset_adu.scalar;
    return fmt::format(
        "the offset of {:g} ADU is too high: the movie's median count is {:.0f}, so its background would be below 0. "
        "Give the mean count of frames without light. The noise on empty regions is {} times what the camera model "
        "says; photon numbers and uncertainties will be wrong",
        offset, offset - below_adu, spread > far_too_large ? "more than 10" : fmt::format("{:.2f}", spread));
}

}  // namespace

NoiseGrid noise_grid(int width, int height, int spot_radius_px) {
    const int step = std::max(1, int(std::sqrt(double(width) * height / wanted_samples)));
    return {step, grid_count(width, step), grid_count(height, step), spot_radius_px};
}

EmptyNoise::EmptyNoise(const CameraView& camera, int spot_radius_px)
    : camera_(&camera),
      grid_(noise_grid(camera.width(), camera.height(), spot_radius_px)),
      samples_(std::size_t(grid_.columns) * grid_.rows) {
    sorted_.reserve(samples_.size());
}

NoisePlace EmptyNoise::place(const float* photoelectrons, const Background& background, int x, int y) const {
    const long stride = camera_->width(), at = y * stride + x;
    const auto in = [at](std::span<const float> map) { return map.empty() ? nullptr : map.data() + at; };
    NoisePlace place{photoelectrons + at,
                     stride,
                     in(camera_->variance_map()),
                     in(camera_->qe_map()),
                     nullptr,
                     nullptr,
                     camera_->shot_noise(),
                     camera_->variance_scalar(),
                     1,
                     background.variance_at(x, y)};
    if (const auto& maps = camera_->maps())
        place.offset = in(maps->offset), place.factor = in(maps->factor);
    else
        place.factor_scalar = camera_->pixel(0).factor_e_per_adu;
    return place;
}

void EmptyNoise::sample(const float* photoelectrons, const Background& background) {
    std::size_t k = 0;
    for (int row = 0; row < grid_.rows; ++row)
        for (int column = 0; column < grid_.columns; ++column) {
            const int x = noise_margin_px + column * grid_.step_px, y = noise_margin_px + row * grid_.step_px;
            const NoiseSample sample = noise_sample(place(photoelectrons, background, x, y));
            samples_[k++] = {sample, sample.observed == sample.observed};
        }
}

void EmptyNoise::leave_out(const Spots& spots) {
    for (std::size_t k = 0; k < spots.count(); ++k) {
        const GridRange rows = samples_near(spots.y[k], grid_.spot_radius_px, grid_.step_px, grid_.rows);
        const GridRange columns = samples_near(spots.x[k], grid_.spot_radius_px, grid_.step_px, grid_.columns);
        for (int row = rows.first; row < rows.end; ++row)
            for (int column = columns.first; column < columns.end; ++column)
                samples_[std::size_t(row) * grid_.columns + column].is_used = false;
    }
}

double EmptyNoise::spread() {
    sorted_.clear();
    for (const Sample& sample : samples_)
        if (sample.is_used) sorted_.push_back(sample.observed);
    if (sorted_.size() < min_noise_samples) return 0;
    const auto middle = sorted_.begin() + std::ptrdiff_t(sorted_.size() / 2);
    std::nth_element(sorted_.begin(), middle, sorted_.end());
    const double limit = noise_limit(*middle);
    double observed = 0, expected = 0;
    for (const Sample& sample : samples_) {
        if (!sample.is_used || !(sample.observed <= limit)) continue;
        observed += sample.observed;
        expected += sample.expected;
    }
    return noise_spread(observed, expected, double(sorted_.size()));
}

std::string camera_contradiction(std::span<const double> noise_checks, const Camera* camera, double background_e) {
    std::vector<double> known;
    for (double spread : noise_checks)
        if (spread > 0) known.push_back(spread);
    if (known.empty()) return "";
    const auto middle = known.begin() + std::ptrdiff_t(known.size() / 2);
    std::nth_element(known.begin(), middle, known.end());
    const double chance = 1 / std::sqrt(double(known.size()));
    const bool too_large = *middle > max_spread + chance_up * chance;
    const bool too_small = *middle < min_spread - chance_down * chance;
    if (!too_large && !too_small) return "";
    if (camera)
        for (const auto& told : {offset_above_background, inverted_gain})
            if (std::string words = told(*middle, *camera, background_e); !words.empty()) return words;
    if (*middle > far_too_large)
        return "the noise on empty regions is more than 10 times what the camera model says: is the gain (e-/ADU) far "
               "too large, the gain of an EM register missing, or the offset too high, so that the background is below "
               "0? Photon numbers and uncertainties will be wrong";
    if (too_large)
        return fmt::format(
            "the noise on empty regions is {:.2f} times what the camera model says: is this an EMCCD (1.4 "
            "times), the "
            "gain (e-/ADU) too large, the offset too high or the read noise too small? Uncertainties will be "
            "wrong by "
            "about this factor",
            *middle);
    return fmt::format(
        "the noise on empty regions is only {:.2f} times what the camera model says: is the gain (e-/ADU) too small, "
        "the "
        "offset too low or the read noise too large, or was the movie filtered or resampled? Uncertainties will be "
        "wrong "
        "by about this factor",
        *middle);
}

}  // namespace glint
