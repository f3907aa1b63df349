// Maps of a movie's frame: smoothed, and interpolated over marked pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace glint {

/// Light of each pixel, e-, C order.
using LightMap = std::vector<float>;

/// The size of the maps, and the PSF's width.
struct FrameField {
    int width, height;
    double spot_width_px;
    std::size_t at(int x, int y) const { return std::size_t(y) * std::size_t(width) + std::size_t(x); }
};

/// Smooths with a Gaussian along one axis. Beyond the frame, its edge pixels repeat.
class Smoothing {
  public:
    Smoothing(const FrameField& field, double blur_px);
    int radius() const { return radius_; }

    /// Adds columns [begin, end) of the weighted rows around y to a row of zeros. `value(p)`: value of pixel p.
    template <class Value>
    void down(int y, int begin, int end, const Value& value, float* to) const {
        for (int k = -radius_; k <= radius_; ++k) {
            const float weight = weights_[std::size_t(k + radius_)];
            const std::size_t from = field_.at(0, std::clamp(y + k, 0, field_.height - 1));
            for (int x = begin; x < end; ++x) to[x] += weight * value(from + std::size_t(x));
        }
    }
    /// Smooths a result of down() along x, at one position.
    float across(const float* row, int x) const;
    /// Like across(), at several positions from x on, in the time of one. Returns false if they extend beyond the
    /// frame.
    static constexpr int places_together = 8;
    bool across(const float* row, int x, std::array<float, places_together>& sums) const;
    /// Like across(), at all x; adds the result to a row of zeros.
    void across(const float* row, float* to) const;

  private:
    const FrameField& field_;
    int radius_;
    std::vector<float> weights_;
};

/// Returns the map smoothed with a Gaussian.
LightMap blurred(const LightMap& map, const FrameField& field, double blur_px);

/// Fills marked pixels from their surroundings: with a Gaussian-weighted mean, which is then smoothed.
void fill_marked(const std::vector<LightMap*>& maps, const std::vector<std::uint8_t>& marks, const FrameField& field);

}  // namespace glint
