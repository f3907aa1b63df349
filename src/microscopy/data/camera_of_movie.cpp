// Compares a camera with the movie for which it is given.
// SPDX-License-Identifier: MIT
#include "data/camera_of_movie.hpp"

#include <fmt/format.h>

#include <cmath>

#include "glint/error.hpp"

namespace glint {
namespace {

void require_within(const Camera& camera, int width, int height, const std::string& name, const std::string& area) {
    if (!camera.has_maps() || (camera.sensor_width <= width && camera.sensor_height <= height)) return;
    throw OptionError(fmt::format(
        "{}: the camera maps cover {}x{} pixels, {}, and nothing says where on the sensor it lies: give the "
        "sensor's pixel at which the movie begins with `sensor_roi=X,Y` (0,0 if both begin together)",
        name, camera.sensor_width, camera.sensor_height, area));
}

}  // namespace

void require_known_corner(const Camera& camera, const MovieInfo& movie) {
    if (movie.width == 0) return;
    require_within(camera, movie.width, movie.height, movie.name,
                   fmt::format("the movie is {}x{}", movie.width, movie.height));
}

void require_known_corner_of_rois(const Camera& camera, int width, int height, const std::string& name) {
    require_within(camera, width, height, name, fmt::format("the ROIs reach over {}x{} of their movie", width, height));
}

std::array<double, 2> find_field_place(const Camera& camera, const PixelRegion& region) {
    if (camera.has_maps()) return {double(camera.roi_x), double(camera.roi_y)};
    return {double(region.x), double(region.y)};
}

void place_in_field(const Camera& camera, const PixelRegion& region, Psf& psf) {
    if (!psf.has_field()) return;
    const auto [x, y] = find_field_place(camera, region);
    psf.field_x_px = x, psf.field_y_px = y;
}

std::string pixel_size_contradiction(const MovieInfo& movie, double pixel_size_nm) {
    constexpr double rounding = 0.01;
    if (!movie.pixel_size_nm || !(pixel_size_nm > 0) || !(*movie.pixel_size_nm > 0)) return "";
    if (std::abs(pixel_size_nm - *movie.pixel_size_nm) <= rounding * *movie.pixel_size_nm) return "";
    return fmt::format("{}: its metadata say that pixels are {:g} nm wide, and {:g} nm is given, which is used",
                       movie.name, *movie.pixel_size_nm, pixel_size_nm);
}

}  // namespace glint
