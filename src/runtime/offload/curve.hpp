// A learned correction of an estimate: the ratio of measured to estimated time as a function of size.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace glint::offload {

/// One point per octave of the size. Linear interpolation of the logarithms between points; constant beyond the
/// outermost ones, because the estimate itself scales with size.
class Curve {
  public:
    struct Point {
        float log2_size = 0, log_ratio = 0;
        std::uint32_t count = 0;  ///< number of runs; 0: no measurement in this octave
    };
    static constexpr int octaves = 64;

    /// Adds a run. Ratios that are not positive and finite are ignored.
    void learn(double size, double ratio);
    double ratio(double size) const { return at(log2_of(size)).ratio; }  ///< 1 without any measurement
    /// Distance in octaves to the nearest point; infinite without one.
    double octaves_off(double size) const { return at(log2_of(size)).octaves_off; }
    /// Ratio and distance, for a size whose logarithm is known.
    struct Value {
        double ratio = 1, octaves_off = 0;
    };
    Value at(float log2_size) const;
    static float log2_of(double size);
    std::uint32_t count(double size) const { return points_[octave(size)].count; }

    const std::array<Point, octaves>& points() const { return points_; }
    /// For loading: sets a point as returned by points(). The caller checks the values of a file.
    void set(int octave, const Point& point) { points_[octave] = point, known_ = true; }

  private:
    static int octave(double size);
    bool known_ = false;  // whether there may be points: skips the search
    std::array<Point, octaves> points_{};
};

}  // namespace glint::offload
