// Images: a float density, and an 8-bit RGB image for display.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace glint {

/// A float image in C order.
struct Picture {
    int width = 0, height = 0;  ///< px
    double pixel_size_nm = 0;   ///< of one picture pixel; 0 if unknown
    std::vector<float> values;  ///< height * width
};

/// An RGB image, 3 bytes per pixel, C order.
struct RgbPicture {
    int width = 0, height = 0;
    double pixel_size_nm = 0;
    std::vector<std::uint8_t> rgb;  ///< height * width * 3

    /// Returns the 3 bytes of a pixel, which must be inside the picture.
    std::uint8_t* at(int x, int y) { return rgb.data() + 3 * (std::size_t(y) * width + x); }
};

}  // namespace glint
