// CameraView: conversion of counts to photoelectrons, noise per pixel, and checks of the camera's values.
// SPDX-License-Identifier: MIT
#include "glint/camera.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/median.hpp"
#include "data/counts.hpp"
#include "data/provenance.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

struct Limits {
    const char* name;
    float low, high;
    const char* advice;
};
constexpr Limits offset_limits{"offset", -1e6f, 1e6f, "in ADU, as in `offset=100`"};
constexpr Limits gain_limits{"gain", 1e-6f, 1e6f, "in photoelectrons per ADU, as in `gain=0.5`"};
constexpr Limits readnoise_limits{"read noise", 0, 1e5f, "in photoelectrons rms, as in `readnoise=1.6`"};
constexpr Limits qe_limits{"relative QE", 1e-3f, 1e3f, "relative to the sensor's mean, so near 1"};

void check(const SensorField& field, const Limits& limits, std::size_t pixels, int width) {
    const auto bad = [&](float value) { return !(value >= limits.low && value <= limits.high); };
    const auto refuse = [&](float value, const std::string& where) {
        throw OptionError(fmt::format("camera {} {}{} is outside {} to {}: give it {}", limits.name, value, where,
                                      limits.low, limits.high, limits.advice));
    };
    if (!field.is_map() && bad(field.scalar)) refuse(field.scalar, "");
    if (field.is_map() && field.map.size() != pixels)
        throw OptionError(
            fmt::format("camera {} map has {} values, the sensor {} pixels", limits.name, field.map.size(), pixels));
    for (std::size_t k = 0; k < field.map.size(); ++k)
        if (bad(field.map[k])) refuse(field.map[k], fmt::format(" at pixel ({}, {})", k % width, k / width));
}

/// Evaluates `value(sensor pixel index)` over the movie's part of the sensor.
template <class F>
std::vector<float> cut(const Camera& camera, int width, int height, F value) {
    std::vector<float> out(std::size_t(width) * height);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            out[std::size_t(y) * width + x] =
                value(std::size_t(y + camera.roi_y) * camera.sensor_width + x + camera.roi_x);
    return out;
}

float value_at(const SensorField& field, std::size_t k) { return field.is_map() ? field.map[k] : field.scalar; }

using MaskedPixel = CameraView::MaskedPixel;

/// Returns the nearest good pixels, from the smallest square that contains any.
MaskedPixel with_neighbours(const std::vector<float>& masked, int width, int height, int x, int y) {
    constexpr int reach = 8;
    const auto index = [width](int u, int v) { return std::uint32_t(v) * std::uint32_t(width) + std::uint32_t(u); };
    MaskedPixel pixel{index(x, y), 0, {}};
    std::vector<std::pair<int, std::uint32_t>> good;  // squared distance, index
    for (int r = 1; r <= reach && good.empty(); ++r)
        for (int v = std::max(y - r, 0); v <= std::min(y + r, height - 1); ++v)
            for (int u = std::max(x - r, 0); u <= std::min(x + r, width - 1); ++u)
                if (masked[index(u, v)] == 0) good.emplace_back((u - x) * (u - x) + (v - y) * (v - y), index(u, v));
    std::sort(good.begin(), good.end());
    for (const auto& [distance, place] : good)
        if (pixel.count < pixel.from.size()) pixel.from[pixel.count++] = place;
    return pixel;
}

std::vector<MaskedPixel> masked_of(const Camera& camera, int width, int height) {
    std::vector<MaskedPixel> pixels;
    if (camera.masked.empty()) return pixels;
    const auto masked = cut(camera, width, height, [&](std::size_t k) { return float(camera.masked[k] != 0); });
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            if (masked[std::size_t(y) * width + x] != 0) pixels.push_back(with_neighbours(masked, width, height, x, y));
    return pixels;
}

/// Returns the median of good pixels, so that one bad pixel does not change the noise of all pixels.
float median_of_good(std::vector<float> variance, const std::vector<MaskedPixel>& masked) {
    for (auto pixel = masked.rbegin(); pixel != masked.rend(); ++pixel)
        variance[pixel->at] = variance.back(), variance.pop_back();
    return float(median(std::move(variance)));
}

void mend_frame(const std::vector<MaskedPixel>& masked, float* photoelectrons) {
    for (const MaskedPixel& pixel : masked) {
        float sum = 0;
        for (std::uint32_t k = 0; k < pixel.count; ++k) sum += photoelectrons[pixel.from[k]];
        photoelectrons[pixel.at] = pixel.count > 0 ? sum / float(pixel.count) : 0;
    }
}

/// Like mend_frame, for a window at (x, y) of frames `stride` px wide, whose other pixels are unknown.
void mend_window(const std::vector<MaskedPixel>& masked, int stride, int x, int y, int width, int height,
                 float* window) {
    for (int row = 0; row < height; ++row) {
        const std::uint32_t first = std::uint32_t(y + row) * std::uint32_t(stride) + std::uint32_t(x);
        auto pixel = std::lower_bound(masked.begin(), masked.end(), first,
                                      [](const MaskedPixel& m, std::uint32_t at) { return m.at < at; });
        for (; pixel != masked.end() && pixel->at < first + std::uint32_t(width); ++pixel) {
            float sum = 0;
            int known = 0;
            for (std::uint32_t k = 0; k < pixel->count; ++k) {
                const int u = int(pixel->from[k]) % stride - x, v = int(pixel->from[k]) / stride - y;
                if (u < 0 || u >= width || v < 0 || v >= height) continue;
                sum += window[v * width + u], ++known;
            }
            window[std::uint32_t(row * width) + pixel->at - first] = known > 0 ? sum / float(known) : 0;
        }
    }
}

/// sCMOS cameras map about 30,000 photoelectrons to 16 bits, so a pixel's gain is below 1 e-/ADU, with a read noise of
/// 0.5 to 4 e- rms. If gain and noise are larger, and plausible when the gain is inverted, the gain is in ADU/e-. (A
/// noise map in ADU was multiplied by the wrong gain, so it is divided by it twice.)
bool looks_inverted(double gain, double noise) {
    const double turned_noise = noise / (gain * gain);
    return gain > 1 && noise > 4 && turned_noise > 0.3 && turned_noise < 4;
}

}  // namespace

CameraView::CameraView(const Camera& camera, int width, int height)
    : width_(width), height_(height), excess_noise_(camera.excess_noise()) {
    const std::size_t pixels = std::size_t(camera.sensor_width) * camera.sensor_height;
    check(camera.offset_adu, offset_limits, pixels, camera.sensor_width);
    check(camera.gain_e_per_adu, gain_limits, pixels, camera.sensor_width);
    check(camera.readnoise_e, readnoise_limits, pixels, camera.sensor_width);
    check(camera.relative_qe, qe_limits, pixels, camera.sensor_width);
    if (!camera.masked.empty() && camera.masked.size() != pixels)
        throw OptionError(fmt::format("camera mask has {} values, the sensor {} pixels", camera.masked.size(), pixels));
    if (!(camera.em_gain >= 1 && camera.em_gain <= 1e5))
        throw OptionError(fmt::format("EM gain {} is outside 1 to 100000", camera.em_gain));
    if (!camera.has_maps() && (camera.roi_x != 0 || camera.roi_y != 0))
        throw OptionError(fmt::format(
            "the movie is said to begin at ({}, {}) of the sensor, and the camera has no maps: give maps, or "
            "leave `sensor_roi=X,Y` out",
            camera.roi_x, camera.roi_y));
    if (!camera.relative_qe.is_map()) qe_scalar_ = camera.relative_qe.scalar;
    const float em_gain = float(camera.em_gain);
    const auto factor = [&](std::size_t k) {
        return value_at(camera.gain_e_per_adu, k) / (em_gain * value_at(camera.relative_qe, k));
    };
    const auto variance = [&](std::size_t k) {
        const float noise = value_at(camera.readnoise_e, k) / (em_gain * value_at(camera.relative_qe, k));
        return noise * noise;
    };
    if (!camera.has_maps()) {
        offset_ = camera.offset_adu.scalar;
        factor_ = factor(0);
        variance_scalar_ = variance(0);
        return;
    }
    if (camera.roi_x < 0 || camera.roi_y < 0 || camera.roi_x + width > camera.sensor_width ||
        camera.roi_y + height > camera.sensor_height)
        throw OptionError(fmt::format(
            "the camera maps cover {}x{} pixels, the movie is {}x{} at ({}, {}) of the sensor: give the movie's "
            "corner on the sensor with `sensor_roi=X,Y`, or maps of the right camera",
            camera.sensor_width, camera.sensor_height, width, height, camera.roi_x, camera.roi_y));
    Maps maps{cut(camera, width, height, [&](std::size_t k) { return value_at(camera.offset_adu, k); }),
              cut(camera, width, height, factor), cut(camera, width, height, variance),
              camera.relative_qe.is_map()
                  ? cut(camera, width, height, [&](std::size_t k) { return camera.relative_qe.map[k]; })
                  : std::vector<float>(),
              masked_of(camera, width, height)};
    if (maps.masked.size() == std::size_t(width) * std::size_t(height))
        throw OptionError(fmt::format(
            "all {}x{} pixels are masked as bad in the camera's maps, and nothing is left to find: calibrate the "
            "camera again, or give the movie's corner on the sensor with `sensor_roi=X,Y`",
            width, height));
    variance_scalar_ = median_of_good(maps.variance, maps.masked);
    for (const MaskedPixel& pixel : maps.masked) maps.variance[pixel.at] = masked_variance_e2;
    if (!camera.readnoise_e.is_map() && !camera.relative_qe.is_map() && maps.masked.empty()) maps.variance.clear();
    maps_ = std::make_shared<const Maps>(std::move(maps));
}

CameraView::CameraView(int width, int height, float excess_noise, const Pixel& all, std::shared_ptr<const Maps> maps)
    : width_(width),
      height_(height),
      excess_noise_(excess_noise),
      offset_(all.offset_adu),
      factor_(all.factor_e_per_adu),
      variance_scalar_(all.variance_e2),
      qe_scalar_(all.qe),
      maps_(std::move(maps)) {}

int CameraView::to_photoelectrons(const std::byte* counts, PixelType type, std::span<float> out) const {
    const std::size_t n = std::size_t(width_) * height_;
    const CountsScale scale{maps_ ? maps_->offset.data() : nullptr, maps_ ? maps_->factor.data() : nullptr, offset_,
                            factor_};
    int bad = 0;
    switch (type) {
        case PixelType::uint8:
            GLINT_PICK(scale_uint8)(reinterpret_cast<const std::uint8_t*>(counts), n, scale, out.data());
            break;
        case PixelType::uint16:
            GLINT_PICK(scale_uint16)(reinterpret_cast<const std::uint16_t*>(counts), n, scale, out.data());
            break;
        case PixelType::float32:
            GLINT_PICK(scale_float32)(reinterpret_cast<const float*>(counts), n, scale, out.data());
            for (float& value : out.first(n))
                if (!std::isfinite(value)) value = std::numeric_limits<float>::quiet_NaN(), ++bad;
            break;
    }
    if (maps_) mend_frame(maps_->masked, out.data());
    return bad;
}

void CameraView::window_to_photoelectrons(const std::byte* counts, PixelType type, int x, int y, int width, int height,
                                          float* out) const {
    float* const window = out;
    const auto convert_window = [&](const auto* count) {
        for (int row = 0; row < height; ++row, count += width, out += width) {
            const std::size_t k = std::size_t(y + row) * std::size_t(width_) + std::size_t(x);
            for (int c = 0; c < width; ++c)
                out[c] = maps_ ? (float(count[c]) - maps_->offset[k + c]) * maps_->factor[k + c]
                               : (float(count[c]) - offset_) * factor_;
        }
        if (maps_ && !maps_->masked.empty()) mend_window(maps_->masked, width_, x, y, width, height, window);
    };
    switch (type) {
        case PixelType::uint8: return convert_window(reinterpret_cast<const std::uint8_t*>(counts));
        case PixelType::uint16: return convert_window(reinterpret_cast<const std::uint16_t*>(counts));
        case PixelType::float32: return convert_window(reinterpret_cast<const float*>(counts));
    }
}

void CameraView::window_to_photoelectrons(const float* counts, int x, int y, int width, int height, float* out) const {
    window_to_photoelectrons(reinterpret_cast<const std::byte*>(counts), PixelType::float32, x, y, width, height, out);
}

std::vector<std::string> camera_warnings(const Camera& camera) {
    std::vector<std::string> warnings;
    if (!camera.gain_e_per_adu.is_map()) return warnings;
    const double gain = median_of(camera.gain_e_per_adu), noise = median_of(camera.readnoise_e);
    if (gain < 0.01 || gain > 100)
        warnings.push_back(fmt::format(
            "the gain map's median is {:.3g} photoelectrons per ADU, which no camera has: is it in other units?",
            gain));
    else if (looks_inverted(gain, noise))
        warnings.push_back(
            fmt::format("the gain map looks upside down: as photoelectrons per ADU its median is {:.3g}, which makes "
                        "the read noise "
                        "{:.3g} e-; as ADU per photoelectron the read noise would be {:.2g} e-, as of an sCMOS camera. "
                        "Say which it "
                        "is: gain_unit = \"ADU/e-\" or \"e-/ADU\" in camera.toml",
                        gain, noise, noise / (gain * gain)));
    return warnings;
}

}  // namespace glint
