// The mapping from camera pixels to picture pixels, and localizations as dots in picture pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/render.hpp"
#include "glint/table_pieces.hpp"

namespace glint {

/// How far a dot extends, in widths. The outermost pixels also receive the tails beyond.
constexpr double dot_reach = 4;

/// A localization in picture pixels, measured from the picture's edge; a width of 0 fills one pixel.
struct Dot {
    double x = 0, y = 0;
    float sigma_x = 0, sigma_y = 0;
    float hue = 0;           ///< position in the colour map, from 0 to 1
    bool is_inside = false;  ///< finite, and overlaps the picture; its centre may be outside
};

/// The geometry of one picture.
class Canvas {
  public:
    /// Covers all tables, or the region of the options. `tables`: whole tables, or TablePieces::like() of a table
    /// in pieces.
    /// Throws OptionError if
    /// - options are out of range,
    /// - the picture would be too large,
    /// - tables lack what the options need, or
    /// - tables have different pixel sizes.
    Canvas(std::span<const Localizations* const> tables, const RenderOptions& options);

    int width() const { return width_; }
    int height() const { return height_; }
    double pixel_size_nm() const { return pixel_size_nm_; }  ///< of a picture pixel; 0: unknown

    Dot dot(const Localizations& table, std::size_t row) const;

  private:
    float blur(const std::vector<float>& precision_px, std::size_t row) const;

    RenderOptions options_;
    double scale_ = 1;            ///< picture pixels per camera pixel
    double x_px_ = 0, y_px_ = 0;  ///< the picture's upper left edge
    double pixel_size_nm_ = 0;
    int width_ = 0, height_ = 0;
};

/// Dots in pictures: each a Gaussian integrated over pixels (docs/explanation/theory.md, eq. 8.1).
struct Splats {
    std::vector<float> density;  ///< the sum of all dots
    std::vector<float> hue;      ///< the sum over all dots, each multiplied by its hue; empty if not requested
};

/// Returns the hue of a row of a table; NaN to leave the row out.
using HueOf = std::function<float(const Localizations& table, std::size_t row)>;

/// Returns the dots of a table. Uses all threads, and memory that does not grow with the rows. Without `hue_of`
/// only the density is summed.
Splats splat(const Canvas& canvas, TablePieces& table, const HueOf& hue_of = {});

}  // namespace glint
