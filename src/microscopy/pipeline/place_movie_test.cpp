// The work of a movie, and the sample of its frames.
// SPDX-License-Identifier: MIT
#include "pipeline/place_movie.hpp"

#include "tests/localize_fixture.hpp"

namespace glint {
namespace {

using SampleCpu = test::Pipeline;

TEST_F(SampleCpu, takes_a_frame_for_each_thread) {
    const auto whole = movie();
    const LocalizeJob job = make_job(whole->info(), camera(), options(3));
    const CpuSample sample = sample_cpu(*whole, job, frames, false, true);
    EXPECT_EQ(sample.frames, 3);
    EXPECT_GT(sample.seconds, 0);
}

TEST_F(SampleCpu, takes_none_where_that_is_much_of_the_movie_unless_asked) {
    const auto whole = movie();
    const LocalizeJob job = make_job(whole->info(), camera(), options(4));
    EXPECT_EQ(sample_cpu(*whole, job, frames, false, true).frames, 0);
    EXPECT_EQ(sample_cpu(*whole, job, frames, true, false).frames, 4);
}

TEST_F(SampleCpu, is_of_the_frames_that_a_resumed_run_has_left) {
    const auto whole = movie();
    const LocalizeJob job = make_job(whole->info(), camera(), options(1));
    EXPECT_EQ(sample_cpu(*whole, job, 19, false, false).frames, 0) << "a twentieth of them would be less than one";
    // Expects a millionth of the time for a millionth of the frames; the measured time varies by far less.
    EXPECT_LT(1000 * sample_cpu(*whole, job, 20, true, true).seconds,
              sample_cpu(*whole, job, 20'000'000, true, true).seconds);
}

TEST_F(SampleCpu, knows_nothing_where_a_frame_cannot_be_read) {
    TroubledMovie damaged(frames / 6, nullptr);  // the first of three
    EXPECT_EQ(sample_cpu(damaged, make_job(damaged.info(), camera(), options(3)), frames, false, false).frames, 0);
}

// Otherwise a movie with joint fits would be expected to take as little time as one without, and vice versa.
TEST(MovieWork, joint_fits_are_work_of_another_kind) {
    MovieInfo movie;
    movie.name = "m.tif", movie.width = movie.height = 64, movie.frames = 100;
    LocalizeOptions options;
    options.psf.sigma_nm = 130, options.pixel_size_nm = 100;
    const auto kind = [&](int emitters, int lone, int spots = 100) {
        options.fit.emitters = emitters;
        LocalizeJob job = make_job(movie, {}, options);
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
