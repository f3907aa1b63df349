// The mapping from camera pixels to picture pixels, and localizations as dots in picture pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>

#include "glint/localizations.hpp"
#include "glint/render.hpp"

namespace glint {

/// A localization in picture pixels, measured from the picture's edge; a width of 0 fills one pixel.
struct Dot {
    double x = 0, y = 0, sigma_x = 0, sigma_y = 0;
};

/// The geometry of one picture. Keeps a reference to the localizations.
class Canvas {
  public:
    /// Throws OptionError for options out of range or a picture that would be too large.
    Canvas(const Localizations& localizations, const RenderOptions& options);

    int width() const { return width_; }
    int height() const { return height_; }
    double pixel_size_nm() const { return localizations_.pixel_size_nm / scale_; }  ///< of a picture pixel; 0: unknown

    /// Localization k, or nothing if it is not finite or outside the picture.
    std::optional<Dot> dot(std::size_t k) const;
    std::size_t count() const { return localizations_.size(); }

  private:
    double blur(const std::vector<float>& precision_px, std::size_t k) const;

    const Localizations& localizations_;
    RenderOptions options_;
    double scale_ = 1;  ///< picture pixels per camera pixel
    int width_ = 0, height_ = 0;
};

}  // namespace glint
