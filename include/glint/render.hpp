// Super-resolved pictures of localizations.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "glint/calibration.hpp"
#include "glint/localizations.hpp"
#include "glint/picture.hpp"

namespace glint {

enum class RenderMode {
    histogram,  ///< localizations per picture pixel
    gaussian,   ///< each localization as a Gaussian of its own precision, integrated over pixels, area 1
};

struct RenderOptions {
    RenderMode mode = RenderMode::gaussian;
    double picture_pixel_nm = 0;        ///< nm per picture pixel; 0: from `zoom`
    double zoom = 10;                   ///< picture pixels per camera pixel, used when picture_pixel_nm is 0
    double min_blur_px = 0;             ///< smallest Gaussian, picture pixels; 0: half a pixel
    bool color_z = false;               ///< z as hue, density as brightness (needs z)
    double z_min_nm = 0, z_max_nm = 0;  ///< colour range; equal: 1st to 99th percentile
    std::string colormap =
        "";  ///< "inferno", "viridis", "magma", "cividis", "gray", "turbo" (z); "": inferno, or turbo for z
    double saturate_percent = 0.5;  ///< the brightest share of non-empty pixels shown at full brightness
    double scale_bar_nm = -1;       ///< length; 0: none; < 0: chosen (needs the pixel size)
    int max_edge_px = 20000;        ///< refuse a larger picture (OptionError says the size and how to shrink it)
};

/// Density per picture pixel. Rows with p or precision out of range are not judged here: filter before. Needs
/// width and height (else the extent of the positions is taken). Throws OptionError for an unreasonable size.
Picture render(const Localizations& localizations, const RenderOptions& options);

/// The density as people look at it: contrast by percentile, perceptual colours, a scale bar.
RgbPicture colorize(const Picture& density, const RenderOptions& options);

/// As render then colorize; with `color_z`, hue from the mean z of each pixel.
RgbPicture render_rgb(const Localizations& localizations, const RenderOptions& options);

/// The measured widths with their errors over z, and the curve through them; x red, y blue.
RgbPicture plot(const Calibration& calibration);

/// Draws on a picture, for overlays: a one-pixel circle, and text in a built-in 5x7 font.
void draw_circle(RgbPicture& picture, double x, double y, double radius, const std::uint8_t (&rgb)[3]);
void draw_text(RgbPicture& picture, int x, int y, std::string_view text, int scale, const std::uint8_t (&rgb)[3]);

}  // namespace glint
