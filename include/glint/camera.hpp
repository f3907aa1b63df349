// The camera: what turns counts (ADU) into photoelectrons, and the noise it adds.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
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

    bool is_map() const { return !map.empty(); }
};

enum class CameraKind { Ideal, SCMOS, EMCCD };

/// Photoelectrons = (ADU - offset) * gain / em_gain / qe. The gain is in photoelectrons per ADU (as Picasso's
/// `Sensitivity` and GaussMLE's `gain`), not its inverse. A pixel's light has the variance F^2 photoelectrons / qe.
struct Camera {
    CameraKind kind = CameraKind::Ideal;
    SensorField offset_adu;                   ///< ADU of a dark pixel (baseline)
    SensorField gain_e_per_adu{1.0f, {}};     ///< photoelectrons per ADU, before EM gain; > 0
    SensorField readnoise_e;                  ///< read noise, e- rms before the EM register's gain is divided out; >= 0
    SensorField relative_qe{1.0f, {}};        ///< response relative to the sensor's mean (flat field); > 0
    double em_gain = 1;                       ///< electron multiplication gain; EMCCD only
    int sensor_width = 0, sensor_height = 0;  ///< size of the maps, px; 0 when there is none
    int roi_x = 0, roi_y = 0;                 ///< sensor pixel that the movie's pixel (0, 0) is, px

    bool has_maps() const {
        return offset_adu.is_map() || gain_e_per_adu.is_map() || readnoise_e.is_map() || relative_qe.is_map();
    }
    /// F^2, the factor by which the multiplication register multiplies the shot noise variance: 2 for an EMCCD.
    float excess_noise() const { return kind == CameraKind::EMCCD ? 2.0f : 1.0f; }
};

/// The camera as seen by a movie of a given size: per pixel, all that the fit and the detection need. This is the
/// one place where counts become photoelectrons. Immutable after construction; safe to share between threads.
class CameraView {
  public:
    /// Cuts the maps to the movie. Throws OptionError when a value is out of range or a map does not cover the
    /// movie at (roi_x, roi_y); the message says how large the map is and what was asked.
    CameraView(const Camera& camera, int width, int height);

    int width() const { return width_; }
    int height() const { return height_; }
    float excess_noise() const { return excess_noise_; }  ///< F^2

    /// Relative quantum efficiency q: per pixel (height * width), or empty when it is the same for all.
    std::span<const float> qe_map() const {
        return maps_ ? std::span<const float>(maps_->qe) : std::span<const float>();
    }
    float qe_scalar() const { return qe_scalar_; }  ///< 1 when there is a map
    /// The variance of the light in photoelectrons over their mean, F^2 / q; with a map of q, to be divided by that.
    float shot_noise() const { return excess_noise_ / qe_scalar_; }

    /// Converts one frame of raw counts to photoelectrons (height * width floats). Not-a-number and infinite counts
    /// become 0 and are counted in the result.
    int to_photoelectrons(const std::byte* counts, PixelType type, std::span<float> out) const;

    /// Converts a window of counts, `width` x `height` px in C order, whose first pixel is the movie's (x, y). It must
    /// lie inside the movie. Not-a-number stays, for the fit to refuse.
    void window_to_photoelectrons(const std::byte* counts, PixelType type, int x, int y, int width, int height,
                                  float* out) const;
    void window_to_photoelectrons(const float* counts, int x, int y, int width, int height, float* out) const;

    /// What one pixel does: photoelectrons = (ADU - offset) * factor, with read variance v and relative quantum
    /// efficiency q. `k`: row * width + column.
    struct Pixel {
        float offset_adu, factor_e_per_adu, variance_e2, qe;
    };
    bool uniform() const { return !maps_; }  ///< all pixels do the same
    Pixel pixel(std::size_t k) const {
        if (uniform()) return {offset_, factor_, variance_scalar_, qe_scalar_};
        return {maps_->offset[k], maps_->factor[k], maps_->variance.empty() ? variance_scalar_ : maps_->variance[k],
                maps_->qe.empty() ? qe_scalar_ : maps_->qe[k]};
    }

    /// Read variance v in photoelectrons^2: per pixel (height * width), or empty when it is the same for all. There is
    /// a map of it wherever there is one of q, by which it is divided twice.
    std::span<const float> variance_map() const {
        return maps_ ? std::span<const float>(maps_->variance) : std::span<const float>();
    }
    float variance_scalar() const { return variance_scalar_; }  ///< mean variance when there is a map

    /// The movie's part of the maps, height * width values each in C order; shared by all copies of the view.
    struct Maps {
        std::vector<float> offset, factor, variance, qe;  ///< the last two may be empty: the same for all
    };
    const std::shared_ptr<const Maps>& maps() const { return maps_; }  ///< null when uniform()

  private:
    int width_ = 0, height_ = 0;
    float excess_noise_ = 1, offset_ = 0, factor_ = 1, variance_scalar_ = 0, qe_scalar_ = 1;
    std::shared_ptr<const Maps> maps_;
};

/// A pixel that the gain map says is upside down, and the like: sentences for a person, empty when all is well.
/// (A gain map whose offset-corrected frames show less noise than Poisson statistics allow, a median gain map
/// outside 0.01 to 100.)
std::vector<std::string> camera_warnings(const Camera& camera);

}  // namespace glint
