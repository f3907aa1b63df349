// How much longer an operation takes than its estimate, by size, learned from what runs took.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace glint::offload {

/// Ratios of measured to estimated time, one point an octave of the size. Between points it interpolates, beyond them
/// the last one holds: the estimate knows how times grow.
class Curve {
  public:
    struct Point {
        float log2_size = 0, log_ratio = 0;
        std::uint32_t count = 0;  ///< 0: nothing was measured here
    };
    static constexpr int octaves = 64;

    void learn(double size, double ratio);
    double ratio(double size) const { return at(log2_of(size)).ratio; }  ///< 1 where nothing is known
    /// Distance to the nearest point; infinite without one.
    double octaves_off(double size) const { return at(log2_of(size)).octaves_off; }
    /// Both, for a size of which the logarithm is known.
    struct Value {
        double ratio = 1, octaves_off = 0;
    };
    Value at(float log2_size) const;
    static float log2_of(double size);
    std::uint32_t count(double size) const { return points_[octave(size)].count; }

    const std::array<Point, octaves>& points() const { return points_; }
    void set(int octave, const Point& point) { points_[octave] = point, known_ = true; }

  private:
    static int octave(double size);
    bool known_ = false;  // whether there may be points
    std::array<Point, octaves> points_{};
};

}  // namespace glint::offload
