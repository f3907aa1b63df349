// CameraView: conversion of counts to photoelectrons, noise per pixel, and checks of the camera's values.
// SPDX-License-Identifier: MIT
#include "glint/camera.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "data/provenance.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

struct Limits {
    const char* name;
    float low, high;
    const char* advice;
};
constexpr Limits offset_limits{"offset", -1e6f, 1e6f, "in ADU, as in --offset 100"};
constexpr Limits gain_limits{"gain", 1e-6f, 1e6f, "in photoelectrons per ADU, as in --gain 0.5"};
constexpr Limits readnoise_limits{"read noise", 0, 1e5f, "in photoelectrons rms, as in --readnoise 1.6"};
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

float at(const SensorField& field, std::size_t k) { return field.is_map() ? field.map[k] : field.scalar; }

float mean(const std::vector<float>& values) {
    double sum = 0;
    for (float v : values) sum += v;
    return values.empty() ? 0 : float(sum / double(values.size()));
}

template <class T>
int convert(const T* counts, std::size_t n, const float* offsets, const float* factors, float offset, float factor,
            float* out) {
    if (factors)
        for (std::size_t k = 0; k < n; ++k) out[k] = (float(counts[k]) - offsets[k]) * factors[k];
    else
        for (std::size_t k = 0; k < n; ++k) out[k] = (float(counts[k]) - offset) * factor;
    int bad = 0;
    if constexpr (std::is_same_v<T, float>)
        for (std::size_t k = 0; k < n; ++k)
            if (!std::isfinite(out[k])) out[k] = 0, ++bad;
    return bad;
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
    if (!(camera.em_gain >= 1 && camera.em_gain <= 1e5))
        throw OptionError(fmt::format("EM gain {} is outside 1 to 100000", camera.em_gain));
    if (!camera.has_maps() && (camera.roi_x != 0 || camera.roi_y != 0))
        throw OptionError(fmt::format(
            "the movie is said to begin at ({}, {}) of the sensor, and the camera has no maps: give maps, or "
            "leave --sensor-roi X,Y out",
            camera.roi_x, camera.roi_y));
    if (!camera.relative_qe.is_map()) qe_scalar_ = camera.relative_qe.scalar;
    const float em_gain = float(camera.em_gain);
    const auto factor = [&](std::size_t k) {
        return at(camera.gain_e_per_adu, k) / (em_gain * at(camera.relative_qe, k));
    };
    const auto variance = [&](std::size_t k) {
        const float noise = at(camera.readnoise_e, k) / (em_gain * at(camera.relative_qe, k));
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
            "corner on the sensor with --sensor-roi X,Y, or maps of the right camera",
            camera.sensor_width, camera.sensor_height, width, height, camera.roi_x, camera.roi_y));
    Maps maps{cut(camera, width, height, [&](std::size_t k) { return at(camera.offset_adu, k); }),
              cut(camera, width, height, factor), cut(camera, width, height, variance),
              camera.relative_qe.is_map()
                  ? cut(camera, width, height, [&](std::size_t k) { return camera.relative_qe.map[k]; })
                  : std::vector<float>()};
    variance_scalar_ = mean(maps.variance);
    if (!camera.readnoise_e.is_map() && !camera.relative_qe.is_map()) maps.variance.clear();
    maps_ = std::make_shared<const Maps>(std::move(maps));
}

int CameraView::to_photoelectrons(const std::byte* counts, PixelType type, std::span<float> out) const {
    const std::size_t n = std::size_t(width_) * height_;
    const float* offsets = maps_ ? maps_->offset.data() : nullptr;
    const float* factors = maps_ ? maps_->factor.data() : nullptr;
    switch (type) {
        case PixelType::uint8:
            return convert(reinterpret_cast<const std::uint8_t*>(counts), n, offsets, factors, offset_, factor_,
                           out.data());
        case PixelType::uint16:
            return convert(reinterpret_cast<const std::uint16_t*>(counts), n, offsets, factors, offset_, factor_,
                           out.data());
        case PixelType::float32:
            return convert(reinterpret_cast<const float*>(counts), n, offsets, factors, offset_, factor_, out.data());
    }
    return 0;
}

void CameraView::window_to_photoelectrons(const std::byte* counts, PixelType type, int x, int y, int width, int height,
                                          float* out) const {
    const auto convert_window = [&](const auto* count) {
        for (int row = 0; row < height; ++row, count += width, out += width) {
            const std::size_t k = std::size_t(y + row) * std::size_t(width_) + std::size_t(x);
            for (int c = 0; c < width; ++c)
                out[c] = maps_ ? (float(count[c]) - maps_->offset[k + c]) * maps_->factor[k + c]
                               : (float(count[c]) - offset_) * factor_;
        }
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
