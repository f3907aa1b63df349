// Super-resolved pictures of localizations (docs/explanation/theory.md, section 8).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glint/calibration.hpp"
#include "glint/localizations.hpp"
#include "glint/picture.hpp"
#include "glint/table_pieces.hpp"

namespace glint {

enum class RenderMode {
    histogram,  ///< localizations per picture pixel
    gaussian,   ///< each localization as a Gaussian of its precision, integrated over pixels, with sum 1 (eq. 8.1)
};

/// What colours a pixel.
enum class RenderColor {
    density,  ///< its density
    z,        ///< the mean z of its localizations; brightness is the density
    frame,    ///< the mean frame of its localizations, from the movie's first to its last; brightness is the density
};

/// A part of the camera in the coordinates of tables: 0 is the centre of the first pixel.
struct RenderRegion {
    double x_begin_px = 0, x_end_px = 0, y_begin_px = 0, y_end_px = 0;

    bool is_everything() const { return x_begin_px == 0 && x_end_px == 0 && y_begin_px == 0 && y_end_px == 0; }
    /// The ends are excluded.
    bool contains(double x_px, double y_px) const {
        return is_everything() || (x_px >= x_begin_px && x_px < x_end_px && y_px >= y_begin_px && y_px < y_end_px);
    }
};

struct RenderOptions {
    RenderMode mode = RenderMode::gaussian;
    double picture_pixel_nm = 0;  ///< nm per picture pixel; 0: from `zoom`
    double zoom = 0;              ///< picture pixels per camera pixel, used when picture_pixel_nm is 0; 0: 10, or
                                  ///< more so that the longer edge has 1000 picture pixels
    double min_blur_px = 0;       ///< minimum standard deviation, picture pixels; 0: half a pixel
    double blur_nm = 0;           ///< one standard deviation for all localizations; 0: the precision of each
    double blur_factor = 1;       ///< by which precisions are multiplied, if they are known to be stated wrongly
    RenderRegion region = {};  ///< what to draw; its begin is the picture's edge, and pixels at its end are drawn whole
    RenderColor color = RenderColor::density;
    double z_min_nm = 0, z_max_nm = 0;  ///< colour range; equal: 1st to 99th percentile
    std::string colormap =
        "";  ///< "inferno", "viridis", "magma", "cividis", "gray", "turbo"; "": inferno, or turbo for z and frames
    std::vector<std::string> channel_colors =
        {};                         ///< of render_channels; empty: magenta, green, cyan, yellow, red, blue
    double saturate_percent = 0.5;  ///< share of the non-empty pixels that are shown at full brightness
    double scale_bar_nm = -1;       ///< length; 0: none; < 0: automatic (needs the pixel size)
    int max_edge_px = 20000;        ///< a larger picture is an OptionError, which says how to reduce it
};

/// Each function accepts tables in memory, or in pieces (`TablePieces`), with the same result. Beside the picture
/// it needs memory for a piece, and 4 bytes a row for colours of z without a range.
///
/// Returns the density per picture pixel. Uses all rows, also rows outside whose blur reaches into the picture, so
/// that parts join to the whole. Filter by p value or precision before. The extent is the table's width and height,
/// or that of the positions if these are unknown.
///
/// Throws OptionError for an unreasonable size. The result does not depend on the number of threads.
Picture render(const Localizations& localizations, const RenderOptions& options);
Picture render(TablePieces& table, const RenderOptions& options);

/// Converts a density to colours: contrast by percentile, a perceptual colormap, a scale bar.
RgbPicture colorize(const Picture& density, const RenderOptions& options);

/// As `render` followed by `colorize`, or coloured by z or frame. Throws OptionError if colours need a z that the
/// table does not have.
RgbPicture render_rgb(const Localizations& localizations, const RenderOptions& options);
RgbPicture render_rgb(TablePieces& table, const RenderOptions& options);

/// Renders several tables into one picture, each in its own colour and with its own contrast; colours add up. The
/// extent is that of the largest table. Throws OptionError for different pixel sizes, more tables than colours, and
/// unknown colours.
RgbPicture render_channels(std::span<const Localizations> tables, const RenderOptions& options);
RgbPicture render_channels(std::span<TablePieces* const> tables, const RenderOptions& options);

/// Returns the names of the colours that `render_channels` gives to so many tables.
std::vector<std::string> channel_color_names(std::size_t tables, const RenderOptions& options);

/// Returns the z in nm, or the frames, at both ends of the colours of `render_rgb`. Throws OptionError as it does,
/// and if colours are of density.
std::pair<double, double> color_range(TablePieces& table, const RenderOptions& options);

/// Returns the number of rows in the region. Throws OptionError, with the place of the rows, if there are rows and
/// none is in it.
std::size_t rows_in_region(std::span<TablePieces* const> tables, const RenderRegion& region);

/// Plots the measured widths with their errors over z, and the fitted curve; x red, y blue. Vertical lines
/// mark the range of the curve.
RgbPicture plot(const Calibration& calibration);

/// Overlays: a circle one pixel wide, and text in a built-in 5x7 font.
void draw_cross(RgbPicture& picture, double x, double y, double arm, const std::uint8_t (&rgb)[3]);
void draw_circle(RgbPicture& picture, double x, double y, double radius, const std::uint8_t (&rgb)[3]);
void draw_text(RgbPicture& picture, int x, int y, std::string_view text, int scale, const std::uint8_t (&rgb)[3]);

}  // namespace glint
