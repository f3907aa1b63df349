// Super-resolved pictures of localizations (docs/explanation/theory.md, section 8).
//
//     const glint::Localizations table = glint::read_localizations("movie.hdf5");
//     glint::RenderOptions options;
//     options.picture_pixel_nm = 10;
//     options.color = glint::RenderColor::z;
//     glint::write_png("movie.png", glint::render_rgb(table, options));
//     glint::write_float_tiff("density.tif", glint::render(table, options));  // for ImageJ
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

/// How a localization is drawn.
enum class RenderMode {
    histogram,  ///< localizations per picture pixel
    gaussian,   ///< each localization as a Gaussian of its precision, integrated over pixels, with sum 1 (eq. 8.1)
};

/// The quantity that determines the colour of a pixel.
enum class RenderColor {
    density,  ///< its density
    z,        ///< the mean z of its localizations; brightness is the density
    frame,    ///< the mean frame of its localizations, from the movie's first to its last; brightness is the density
};

/// A part of the camera in the coordinates of tables: 0 is the centre of the first pixel. All 0: the whole camera.
struct RenderRegion {
    double x_begin_px = 0, x_end_px = 0, y_begin_px = 0, y_end_px = 0;

    /// Returns whether this is the whole camera.
    bool is_everything() const { return x_begin_px == 0 && x_end_px == 0 && y_begin_px == 0 && y_end_px == 0; }
    /// Returns whether a position is inside. The ends are excluded.
    bool contains(double x_px, double y_px) const {
        return is_everything() || (x_px >= x_begin_px && x_px < x_end_px && y_px >= y_begin_px && y_px < y_end_px);
    }
};

/// Options of all functions of this header. Each function uses those that apply to it.
struct RenderOptions {
    RenderMode mode = RenderMode::gaussian;
    double picture_pixel_nm = 0;  ///< nm per picture pixel; 0: from `zoom`
    /// Picture pixels per camera pixel, if picture_pixel_nm is 0. 0: 10, or more, so that the longer edge has at least
    /// 1000 picture pixels.
    double zoom = 0;
    double min_blur_px = 0;    ///< minimum standard deviation, picture pixels; 0: half a pixel
    double blur_nm = 0;        ///< one standard deviation for all localizations; 0: the precision of each
    double blur_factor = 1;    ///< multiplies the precisions, if the stated ones are known to be wrong
    RenderRegion region = {};  ///< part to draw; begins at the picture's edge, and pixels at its end are drawn whole
    RenderColor color = RenderColor::density;
    double z_min_nm = 0, z_max_nm = 0;  ///< colour range; equal: 1st to 99th percentile
    /// "inferno", "viridis", "magma", "cividis", "gray" or "turbo"; "": inferno, or turbo for z and frames.
    std::string colormap = "";
    /// Colours of render_channels(); empty: magenta, green, cyan, yellow, red, blue.
    std::vector<std::string> channel_colors = {};
    double saturate_percent = 0.5;  ///< share of the non-empty pixels that are shown at full brightness
    double scale_bar_nm = -1;       ///< length; 0: no bar; < 0: automatic, no bar without a pixel size
    int max_edge_px = 20000;        ///< limit of the picture's edges; the OptionError explains how to reduce them
};

/// Returns the density per picture pixel. Rows outside the picture contribute if their blur reaches into it, so that
/// adjacent pictures match. Filter by p value or precision before. The extent is the table's width and height, or that
/// of the positions if these are unknown. The result does not depend on the number of threads.
///
/// All functions of this header accept tables in memory or in pieces (`TablePieces`), with the same result. Besides the
/// picture they need memory for one piece, and 4 bytes per row for colours of z without a given range.
///
/// Throws OptionError if
/// - an option is out of range, or the picture would be larger than `max_edge_px`,
/// - lengths in nm are given for a table without a pixel size, or
/// - Gaussians are to be drawn without precisions or a given blur.
Picture render(const Localizations& localizations, const RenderOptions& options);
Picture render(TablePieces& table, const RenderOptions& options);

/// Returns a density in colours: contrast by percentile, a perceptual colormap, a scale bar. Throws OptionError for an
/// unknown colormap or an option out of range, and for a given scale bar that is too long or lacks a pixel size.
RgbPicture colorize(const Picture& density, const RenderOptions& options);

/// Returns the picture of render() and colorize(), or one coloured by z or frame. Throws OptionError as they do, and if
/// the colours need z and the table has none.
RgbPicture render_rgb(const Localizations& localizations, const RenderOptions& options);
RgbPicture render_rgb(TablePieces& table, const RenderOptions& options);

/// Returns a picture of several tables, each in its own colour and with its own contrast. The colours are added. The
/// extent is that of the largest table. Throws OptionError as render(), and for no tables, different pixel sizes, more
/// tables than colours, unknown colours, or colours of z or frames.
RgbPicture render_channels(std::span<const Localizations> tables, const RenderOptions& options);
RgbPicture render_channels(std::span<TablePieces* const> tables, const RenderOptions& options);

/// Returns the names of the colours that render_channels() uses for this number of tables. Throws OptionError for no
/// tables or more tables than colours.
std::vector<std::string> channel_color_names(std::size_t tables, const RenderOptions& options);

/// Returns the z in nm, or the frames, at both ends of the colours of render_rgb(). Throws OptionError as render_rgb(),
/// and if the colour is the density.
std::pair<double, double> color_range(TablePieces& table, const RenderOptions& options);

/// Returns the number of rows in the region. Throws OptionError if there are rows but none in the region; the message
/// contains the extent of the rows.
std::size_t rows_in_region(std::span<TablePieces* const> tables, const RenderRegion& region);

/// Returns a plot of the measured widths over z with their errors, and of the fitted curve; x red, y blue. Vertical
/// lines mark the range of the curve.
RgbPicture plot(const Calibration& calibration);

/// Draws a cross or a circle with lines one pixel wide, or text in a built-in 5x7 font. Lengths are in picture pixels.
/// `x`, `y`: the centre, or the upper left corner of the text. `scale`: pixels per dot of the font. Parts outside the
/// picture are not drawn.
void draw_cross(RgbPicture& picture, double x, double y, double arm, const std::uint8_t (&rgb)[3]);
void draw_circle(RgbPicture& picture, double x, double y, double radius, const std::uint8_t (&rgb)[3]);
void draw_text(RgbPicture& picture, int x, int y, std::string_view text, int scale, const std::uint8_t (&rgb)[3]);

}  // namespace glint
