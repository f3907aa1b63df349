// Perceptual colour maps for values from 0 to 1.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace glint {

using Rgb = std::array<std::uint8_t, 3>;

/// A colour map of 256 steps. Differs from matplotlib's map of the same name by at most 5 of 255.
class Colormap {
  public:
    /// Throws OptionError for an unknown name and lists the known ones.
    explicit Colormap(std::string_view name);
    /// Returns the colour of a value, clamped to 0..1; NaN counts as 0.
    Rgb operator()(double value) const;

  private:
    std::array<Rgb, 256> colors_;
};

}  // namespace glint
