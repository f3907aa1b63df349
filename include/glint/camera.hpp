// The camera: conversion of counts (ADU) to photoelectrons, and its noise (docs/explanation/theory.md, section 2).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glint/movie.hpp"
#include "glint/progress.hpp"

namespace glint {

/// One camera property: the same for all pixels, or a map over the sensor.
struct SensorField {
    float scalar = 0;
    std::vector<float> map;  ///< empty, or sensor_height * sensor_width values in C order

    /// Returns whether the property is a map; `scalar` is then not used.
    bool is_map() const { return !map.empty(); }
};

/// The kind of a camera: without read noise, with read noise, or with read noise and an EM register (excess noise).
enum class CameraKind { Ideal, SCMOS, EMCCD };

/// A camera: photoelectrons = (ADU - offset) * gain / em_gain / qe (eq. 2.1). The gain is in photoelectrons per ADU (as
/// Picasso's `Sensitivity` and GaussMLE's `gain`), not its inverse. The variance of a pixel's shot noise is F^2
/// photoelectrons / qe.
struct Camera {
    CameraKind kind = CameraKind::Ideal;
    SensorField offset_adu;                   ///< ADU of a dark pixel (baseline)
    SensorField gain_e_per_adu{1.0f, {}};     ///< photoelectrons per ADU, before EM gain; > 0
    SensorField readnoise_e;                  ///< read noise, e- rms before the EM register's gain is divided out; >= 0
    SensorField relative_qe{1.0f, {}};        ///< response relative to the sensor's mean (flat field); > 0
    double em_gain = 1;                       ///< electron multiplication gain; EMCCD only
    std::vector<std::uint8_t> masked;         ///< empty, or sensor_height * sensor_width: nonzero for defective pixels
    int sensor_width = 0, sensor_height = 0;  ///< size of the maps, px; 0 without maps
    int roi_x = 0, roi_y = 0;                 ///< sensor coordinates of the movie's pixel (0, 0), px

    /// Returns whether any property is a map.
    bool has_maps() const {
        return offset_adu.is_map() || gain_e_per_adu.is_map() || readnoise_e.is_map() || relative_qe.is_map() ||
               !masked.empty();
    }
    /// Returns the excess noise factor F^2, by which an EM register multiplies the shot noise variance: 2 for an EMCCD,
    /// else 1.
    float excess_noise() const { return kind == CameraKind::EMCCD ? 2.0f : 1.0f; }
};

/// Read variance of a masked pixel, e-^2. It is so large that the pixel has no weight beside spots, and so small that a
/// float still represents the sum with other variances.
constexpr float masked_variance_e2 = 1e6f;

/// A camera restricted to the pixels of a movie, with everything per pixel that detection and fit need. The only place
/// where counts are converted to photoelectrons. Immutable after construction; safe to share between threads. Copies
/// share the maps.
///
/// Masked pixels have the read variance masked_variance_e2, and the mean photoelectrons of the good pixels around
/// them (docs/explanation/theory.md, section 2).
class CameraView {
  public:
    /// Crops the maps to the movie. Throws OptionError if a value is out of range or a map does not cover the movie at
    /// (roi_x, roi_y).
    CameraView(const Camera& camera, int width, int height);

    int width() const { return width_; }
    int height() const { return height_; }
    float excess_noise() const { return excess_noise_; }  ///< F^2

    /// Returns the relative quantum efficiency q: per pixel (height * width), or empty if it is uniform.
    std::span<const float> qe_map() const {
        return maps_ ? std::span<const float>(maps_->qe) : std::span<const float>();
    }
    float qe_scalar() const { return qe_scalar_; }  ///< 1 if there is a map
    /// Returns the shot noise factor f = F^2 / q of eq. 2.2: variance over mean of the photoelectrons. If q is a map,
    /// returns F^2.
    float shot_noise() const { return excess_noise_ / qe_scalar_; }

    /// Converts one frame of raw counts to photoelectrons (height * width values each). NaN and infinite counts become
    /// NaN: missing pixels, which detection and fits of a movie do not use. Returns their number.
    int to_photoelectrons(const std::byte* counts, PixelType type, std::span<float> out) const;

    /// Converts a window of counts, `width` x `height` px in C order, whose first pixel is the movie's (x, y); it must
    /// lie inside the movie. NaN is kept, so that the fit reports bad_input.
    void window_to_photoelectrons(const std::byte* counts, PixelType type, int x, int y, int width, int height,
                                  float* out) const;
    void window_to_photoelectrons(const float* counts, int x, int y, int width, int height, float* out) const;

    /// The parameters of one pixel: photoelectrons = (ADU - offset) * factor, with read variance v and relative quantum
    /// efficiency q. `k`: row * width + column.
    struct Pixel {
        float offset_adu, factor_e_per_adu, variance_e2, qe;
    };
    bool uniform() const { return !maps_; }  ///< all pixels have the same parameters
    Pixel pixel(std::size_t k) const {
        if (uniform()) return {offset_, factor_, variance_scalar_, qe_scalar_};
        return {maps_->offset[k], maps_->factor[k], maps_->variance.empty() ? variance_scalar_ : maps_->variance[k],
                maps_->qe.empty() ? qe_scalar_ : maps_->qe[k]};
    }

    /// Returns the read variance v in photoelectrons^2: per pixel (height * width), or empty if it is uniform. With a
    /// map of q there is always a map of v, since v is divided by q^2.
    std::span<const float> variance_map() const {
        return maps_ ? std::span<const float>(maps_->variance) : std::span<const float>();
    }
    float variance_scalar() const { return variance_scalar_; }  ///< the median of good pixels if there is a map

    /// A masked pixel, and the nearest good pixels (row * width + column), up to eight, whose mean replaces it. If
    /// there are none near it, its value is 0.
    struct MaskedPixel {
        std::uint32_t at = 0, count = 0;
        std::array<std::uint32_t, 8> from{};
    };
    std::size_t masked_pixels() const { return maps_ ? maps_->masked.size() : 0; }

    /// The maps cropped to the movie, height * width values each in C order; shared by all copies of the view.
    struct Maps {
        std::vector<float> offset, factor, variance, qe;  ///< the last two may be empty: uniform
        std::vector<MaskedPixel> masked;                  ///< in order of `at`
    };
    const std::shared_ptr<const Maps>& maps() const { return maps_; }  ///< null when uniform()

    /// Recreates a view from its parts, e.g. in another process, without checks. `all`: the result of pixel() without
    /// maps. With maps, its variance and q are variance_scalar() and qe_scalar().
    CameraView(int width, int height, float excess_noise, const Pixel& all, std::shared_ptr<const Maps> maps);

  private:
    int width_ = 0, height_ = 0;
    float excess_noise_ = 1, offset_ = 0, factor_ = 1, variance_scalar_ = 0, qe_scalar_ = 1;
    std::shared_ptr<const Maps> maps_;
};

/// Returns a warning for each implausible value, e.g. a gain map that appears to be inverted (ADU per photoelectron) or
/// a median gain outside 0.01 to 100. Empty if there are none.
std::vector<std::string> camera_warnings(const Camera& camera);

}  // namespace glint
