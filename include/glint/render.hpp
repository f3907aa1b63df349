// Super-resolved pictures of localizations (docs/theory.md, section 8).
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
    gaussian,   ///< each localization as a Gaussian of its precision, integrated over pixels, with sum 1 (eq. 8.1)
};

struct RenderOptions {
    RenderMode mode = RenderMode::gaussian;
    double picture_pixel_nm = 0;        ///< nm per picture pixel; 0: from `zoom`
    double zoom = 10;                   ///< picture pixels per camera pixel, used when picture_pixel_nm is 0
    double min_blur_px = 0;             ///< minimum standard deviation, picture pixels; 0: half a pixel
    bool color_z = false;               ///< z as hue, density as brightness; needs z
    double z_min_nm = 0, z_max_nm = 0;  ///< colour range; equal: 1st to 99th percentile
    std::string colormap =
        "";  ///< "inferno", "viridis", "magma", "cividis", "gray", "turbo" (z); "": inferno, or turbo for z
    double saturate_percent = 0.5;  ///< share of the non-empty pixels that are shown at full brightness
    double scale_bar_nm = -1;       ///< length; 0: none; < 0: automatic (needs the pixel size)
    int max_edge_px = 20000;        ///< a larger picture is an OptionError, which says how to reduce it
};

/// Density per picture pixel. Uses all rows: filter by p value or precision before. The extent is the table's width and
/// height, or, if these are unknown, that of the positions. Throws OptionError for an unreasonable size. The result
/// does not depend on the number of threads.
Picture render(const Localizations& localizations, const RenderOptions& options);

/// Converts a density to colours: contrast by percentile, a perceptual colormap, a scale bar.
RgbPicture colorize(const Picture& density, const RenderOptions& options);

/// As `render` followed by `colorize`; with `color_z`, the hue is the mean z of each pixel.
RgbPicture render_rgb(const Localizations& localizations, const RenderOptions& options);

/// Plots the measured widths with their errors over z, and the fitted curve; x red, y blue.
RgbPicture plot(const Calibration& calibration);

/// Overlays: a circle one pixel wide, and text in a built-in 5x7 font.
void draw_cross(RgbPicture& picture, double x, double y, double arm, const std::uint8_t (&rgb)[3]);
void draw_circle(RgbPicture& picture, double x, double y, double radius, const std::uint8_t (&rgb)[3]);
void draw_text(RgbPicture& picture, int x, int y, std::string_view text, int scale, const std::uint8_t (&rgb)[3]);

}  // namespace glint
