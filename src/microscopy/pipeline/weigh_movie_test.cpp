// What the cost model knows of movies.
// SPDX-License-Identifier: MIT
#include "pipeline/weigh_movie.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"

namespace glint {
namespace {

// A movie of joint fits would be expected to take as little as one without, and the other way round.
TEST(WeighMovie, joint_fits_are_work_of_another_kind) {
    MovieInfo movie;
    movie.name = "m.tif", movie.width = movie.height = 64, movie.frames = 100;
    LocalizeOptions options;
    options.psf.sigma_um = 0.13, options.pixel_size_nm = 100;
    const auto kind = [&](int emitters, int lone, int spots = 100) {
        options.fit.emitters = emitters;
        Job job = make_job(movie, {}, options);
        job.lone.found = lone, job.lone.spots = spots;
        return movie_work(movie, job, 100).operation->name;
    };
    EXPECT_NE(kind(1, 80), kind(any_emitters, 80));
    EXPECT_EQ(kind(1, 80), kind(1, 20));
    EXPECT_NE(kind(any_emitters, 80), kind(any_emitters, 20));
    EXPECT_EQ(kind(any_emitters, 20), kind(any_emitters, 0, 0));
}

}  // namespace
}  // namespace glint
