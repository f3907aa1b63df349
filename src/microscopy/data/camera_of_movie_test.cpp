// Corners and pixel sizes that are unknown, or contradict the movie.
// SPDX-License-Identifier: MIT
#include "data/camera_of_movie.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "tests/expect_error.hpp"
#include "tests/field_psf.hpp"

using namespace glint;

namespace {

MovieInfo movie_of(int width, int height) {
    MovieInfo movie;
    movie.name = "m.tif", movie.width = width, movie.height = height;
    return movie;
}

}  // namespace

TEST(CameraOfMovie, maps_that_are_larger_need_a_corner) {
    Camera camera;
    require_known_corner(camera, movie_of(5, 4));  // no maps
    camera.sensor_width = 8, camera.sensor_height = 4;
    camera.offset_adu.map.assign(32, 100);
    require_known_corner(camera, movie_of(8, 4));
    require_known_corner(camera, movie_of(0, 0));  // unknown size
    for (const MovieInfo& smaller : {movie_of(5, 4), movie_of(8, 3)})
        test::expect_error<OptionError>([&] { require_known_corner(camera, smaller); },
                                        {"m.tif: the camera maps cover 8x4 pixels", "`sensor_roi=X,Y`"});
}

TEST(CameraOfMovie, another_pixel_size_than_the_metadatas_is_reported) {
    MovieInfo movie = movie_of(5, 4);
    EXPECT_EQ(pixel_size_contradiction(movie, 160), "") << "the metadata do not say";
    movie.pixel_size_nm = 100;
    EXPECT_EQ(pixel_size_contradiction(movie, 0), "") << "none is given";
    EXPECT_EQ(pixel_size_contradiction(movie, 100.5), "") << "rounded";
    const std::string told = pixel_size_contradiction(movie, 160);
    EXPECT_NE(told.find("100 nm"), told.npos) << told;
    EXPECT_NE(told.find("160 nm is given"), told.npos) << told;
}

// The corner of a camera with maps contains the region already.
TEST(CameraOfMovie, corner_or_region_place_a_movie_in_the_field_of_a_psf) {
    Camera camera;
    camera.roi_x = 7;  // ignored without maps, which nothing else uses
    const PixelRegion region{32, 48, 64, 64};
    EXPECT_EQ(find_field_place(camera, {}), (std::array<double, 2>{0, 0}));
    EXPECT_EQ(find_field_place(camera, region), (std::array<double, 2>{32, 48}));
    camera.sensor_width = camera.sensor_height = 512, camera.roi_x = 132, camera.roi_y = 248;
    camera.offset_adu.map.assign(512 * 512, 100);
    EXPECT_EQ(find_field_place(camera, region), (std::array<double, 2>{132, 248}));
    Psf psf = test::field_psf(PsfModel::SplineXYZNB);
    place_in_field(camera, region, psf);
    EXPECT_EQ(psf.field_x_px, 132);
    EXPECT_EQ(psf.field_y_px, 248);
    Psf one = test::one_cell(psf, 0);
    one.field_x_px = one.field_y_px = 0;
    place_in_field(camera, region, one);
    EXPECT_EQ(one.field_x_px, 0) << "one PSF has no field, and its text stays as it was";
}
