// Corners and pixel sizes that are unknown, or contradict the movie.
// SPDX-License-Identifier: MIT
#include "data/camera_of_movie.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "tests/expect_error.hpp"

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
