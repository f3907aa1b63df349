// Movies that are localized while they are written, from files and from pipes.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/localize_fixture.hpp"

using namespace glint;
using test::expect_error;
using test::Pipeline;
using test::read_bytes;

namespace {

class Follow : public Pipeline {
  protected:
    static constexpr std::size_t frame_bytes = std::size_t(width) * height * 2;

    Follow() {
        FrameBlock block;
        movie()->read(0, frames, block);
        bytes_.assign(reinterpret_cast<const char*>(block.bytes.data()), frames * frame_bytes);
        folder_.write("m.yaml", "Data Type: uint16\nByte Order: '<'\nFrames: 60\nHeight: 40\nWidth: 48\n");
    }
    std::filesystem::path path() const { return folder_ / "m.raw"; }
    /// Appends `count` of the movie's bytes from `begin` on.
    void write(std::size_t begin, std::size_t count) {
        std::ofstream(path(), std::ios::binary | std::ios::app).write(bytes_.data() + begin, std::streamsize(count));
    }
    LocalizeResult follow_file(const std::filesystem::path& out, const LocalizeOptions& how, double timeout_s = 1) {
        const auto movie = open_growing_movie({path()}, {}, 5, how.stop);
        FollowOptions options{timeout_s,
                              0.01,
                              [this](const FollowStatus& status) { told_.push_back(status); },
                              [this] { ++once_more_; },
                              {}};
        return follow(*movie, camera(), out, how, options);
    }
    /// Localizes the movie's frames, and `more` bytes, from a pipe.
    LocalizeResult follow_pipe(const std::filesystem::path& out, const LocalizeOptions& how, const std::string& more) {
        int ends[2];
        if (::pipe(ends) != 0) throw Error("no pipe");
        std::jthread writer([bytes = bytes_ + more, end = ends[1]] {
            for (std::size_t done = 0; done < bytes.size();) {
                const ssize_t n = ::write(end, bytes.data() + done, std::min<std::size_t>(5000, bytes.size() - done));
                if (n < 0) break;
                done += std::size_t(n);
            }
            ::close(end);
        });
        const auto pipe = pipe_movie(ends[0], width, height, PixelType::uint16);
        const LocalizeResult result = follow(*pipe, camera(), out, how, {});
        ::close(ends[0]);
        return result;
    }
    /// Returns the result for the whole file.
    std::string whole(const LocalizeOptions& how = options()) {
        localize(*open_movie(path()), camera(), folder_ / "whole.hdf5", how);
        return read_bytes(folder_ / "whole.hdf5") + read_bytes(folder_ / "whole.yaml");
    }

    std::string bytes_;
    std::vector<FollowStatus> told_;
    int once_more_ = 0;
};

/// Options that need more frames than a growing movie has: the misfit of the PSF, or bounds of its widths.
LocalizeOptions asking(PsfModel model, double misfit) {
    LocalizeOptions how = Pipeline::options();
    how.psf.model = model, how.fit.psf_misfit = misfit;
    return how;
}

}  // namespace

TEST_F(Follow, a_file_that_grows_gives_the_bytes_of_the_whole_one) {
    std::jthread writer([this] {
        // Writes parts that end within frames, to a file that does not exist at first.
        for (std::size_t begin = 0; begin < bytes_.size(); begin += 7001) {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            write(begin, std::min<std::size_t>(7001, bytes_.size() - begin));
        }
    });
    const LocalizeResult result = follow_file(folder_ / "grown.hdf5", options());
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.frames, frames);
    EXPECT_EQ(read_bytes(folder_ / "grown.hdf5") + read_bytes(folder_ / "grown.yaml"), whole());
    ASSERT_GT(told_.size(), 2u);
    EXPECT_GT(told_.back().complete_frames, 0);
    std::int64_t before = 0;
    for (const FollowStatus& status : told_) {
        EXPECT_GE(status.frames, before);
        EXPECT_LE(status.frames, status.complete_frames);
        before = status.frames;
    }
    EXPECT_TRUE(std::any_of(told_.begin(), told_.end(), [](const FollowStatus& status) { return status.lag_s > 0.3; }))
        << "from the look before the one that found a frame to that by which it is there are two times 0.2 s";
    EXPECT_EQ(told_.back().frames, frames);
    EXPECT_EQ(told_.back().localizations, result.localizations);
}

TEST_F(Follow, stopped_it_goes_on_with_what_came_meanwhile) {
    write(0, 20 * frame_bytes);
    StopFlag stop{false};
    LocalizeOptions how = options();
    how.stop = &stop;
    {
        std::jthread stopper([&] {
            std::this_thread::sleep_for(std::chrono::seconds(1));
            stop = true;
        });
        const LocalizeResult part = follow_file(folder_ / "grown.hdf5", how, 60);
        EXPECT_FALSE(part.complete);
        EXPECT_EQ(part.frames, 20);
        EXPECT_EQ(part.written, partial_path(folder_ / "grown.hdf5"));
    }
    write(20 * frame_bytes, 40 * frame_bytes);
    stop = false;
    const auto not_followed = [&] { localize(*open_movie(path()), camera(), folder_ / "grown.hdf5", how); };
    expect_error<OptionError>(not_followed, {"`resume` (", "add `follow`"});
    how.resume = true;
    expect_error<OptionError>(not_followed, {"`resume`: ", "grown.hdf5.journal", "add `follow`"});
    told_.clear();
    const LocalizeResult result = follow_file(folder_ / "grown.hdf5", how);
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.resumed_frames, 20);
    EXPECT_EQ(told_.back().localizations, result.localizations) << "rows of the stopped run count, too";
    EXPECT_EQ(read_bytes(folder_ / "grown.hdf5") + read_bytes(folder_ / "grown.yaml"), whole());
}

TEST_F(Follow, a_movie_that_tells_more_of_the_psf_at_its_end_is_localized_once_more) {
    write(0, frames * frame_bytes);
    for (const LocalizeOptions& how :
         {asking(PsfModel::GaussianXYNB, learn_misfit), asking(PsfModel::GaussianXYNBS, 0.05)}) {
        LocalizeOptions anew = how;
        anew.overwrite = true, once_more_ = 0;
        const LocalizeResult result = follow_file(folder_ / "grown.hdf5", anew);
        EXPECT_TRUE(result.complete);
        EXPECT_GE(result.seconds, 1) << "that it waited for more frames";
        EXPECT_EQ(once_more_, 1);
        EXPECT_EQ(read_bytes(folder_ / "grown.hdf5") + read_bytes(folder_ / "grown.yaml"), whole(anew));
    }
    LocalizeOptions given = options();
    given.overwrite = true;
    follow_file(folder_ / "grown.hdf5", given);
    EXPECT_EQ(once_more_, 1) << "nothing is learnt";
}

TEST_F(Follow, a_wrong_width_is_reported_when_the_movie_has_ended) {
    write(0, frames * frame_bytes);
    std::string warned;
    LocalizeOptions how = options();
    how.psf.sigma_nm *= 1.5;
    how.warn = [&](const std::string& warning) { warned += warning; };
    const LocalizeResult result = follow_file(folder_ / "grown.hdf5", how);
    EXPECT_EQ(once_more_, 0) << "the misfit is given";
    EXPECT_NE(warned.find("less than the 195 nm used"), std::string::npos) << warned;
    EXPECT_NEAR(result.lone.width_nm, sigma_px * 100, 5 * result.lone.width_error_nm);
}

TEST_F(Follow, a_wrong_width_is_reported_of_a_pipe_which_is_read_once) {
    for (const double misfit : {0.05, learn_misfit}) {
        std::string warned;
        LocalizeOptions how = options();
        how.fit.psf_misfit = misfit, how.psf.sigma_nm *= 1.5, how.overwrite = true;
        how.warn = [&](const std::string& warning) { warned += warning; };
        const LocalizeResult result = follow_pipe(folder_ / "piped.csv", how, "");
        EXPECT_TRUE(result.complete);
        EXPECT_EQ(result.lone.psf_misfit, 0.05) << "the usual one";
        EXPECT_NE(warned.find("less than the 195 nm used"), std::string::npos) << warned;
    }
}

TEST_F(Follow, stopped_while_it_localizes_once_more_it_goes_on_as_one_that_did_not_follow) {
    write(0, frames * frame_bytes);
    StopFlag stop{false};
    LocalizeOptions how = asking(PsfModel::GaussianXYNB, learn_misfit);
    how.stop = &stop, how.threads = 1, how.memory_bytes = 4 * frame_bytes;
    how.progress = [&](std::int64_t done, std::int64_t, std::int64_t) { stop = done > 0; };
    const LocalizeResult part = follow_file(folder_ / "grown.hdf5", how);
    EXPECT_EQ(once_more_, 1);
    EXPECT_FALSE(part.complete);
    EXPECT_LT(part.frames, frames) << "of the frames that were localized before, none count";
    how.resume = true, how.progress = {}, stop = false;
    expect_error<OptionError>([&] { follow_file(folder_ / "grown.hdf5", how); }, {"`resume`: ", "leave out `follow`"});
    EXPECT_EQ(localize(*open_movie(path()), camera(), folder_ / "grown.hdf5", how).resumed_frames, part.frames);
    EXPECT_FALSE(std::filesystem::exists(partial_path(folder_ / "grown.hdf5")));
    how.resume = false;
    EXPECT_EQ(read_bytes(folder_ / "grown.hdf5") + read_bytes(folder_ / "grown.yaml"), whole(how));
}

TEST_F(Follow, a_run_that_did_not_follow_goes_on_without) {
    write(0, frames * frame_bytes);
    ASSERT_FALSE(stopped_at(20, folder_ / "part.hdf5").complete);
    LocalizeOptions how = options();
    how.resume = true;
    expect_error<OptionError>([&] { follow_file(folder_ / "part.hdf5", how); }, {"`resume`: ", "leave out `follow`"});
}

TEST_F(Follow, frames_are_found_by_one_look_and_there_by_the_next) {
    write(0, 20 * frame_bytes);
    const auto movie = open_growing_movie({path()}, {}, 5);
    EXPECT_EQ(movie->frames_found(), 20);
    EXPECT_EQ(movie->frames_beyond(0, 0), 0) << "once is not enough";
    EXPECT_EQ(movie->frames_beyond(0, 1), 20);
    write(20 * frame_bytes, 5 * frame_bytes);
    EXPECT_EQ(movie->frames_beyond(20, 1), 20) << "a look has found them";
    EXPECT_EQ(movie->frames_found(), 25);
    EXPECT_EQ(movie->frames_beyond(20, 1), 25);
}

TEST_F(Follow, a_file_that_never_comes_is_the_error_of_a_missing_one) {
    expect_error<InputError>([&] { open_growing_movie({folder_ / "none.tif"}, {}, 0.3); }, {"none.tif"});
    StopFlag stop{true};
    expect_error<InputError>([&] { open_growing_movie({folder_ / "none.tif"}, {}, 1000, &stop); }, {"none.tif"});
}

TEST_F(Follow, a_pipe_gives_the_rows_of_the_file) {
    std::string warned;
    LocalizeOptions how = options();
    how.warn = [&](const std::string& text) { warned += text; };
    const LocalizeResult result = follow_pipe(folder_ / "piped.csv", how, "abc");
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.frames, frames);
    EXPECT_EQ(read_bytes(folder_ / "piped.csv"), reference());
    EXPECT_NE(warned.find("frame 61 is truncated (expected 3840 bytes, found 3)"), std::string::npos) << warned;
}

TEST_F(Follow, a_pipe_without_frames_is_an_error_and_leaves_nothing) {
    const auto pipe = pipe_movie(::open("/dev/null", O_RDONLY), width, height, PixelType::uint16);
    expect_error<InputError>([&] { follow(*pipe, camera(), folder_ / "none.csv", options(), {}); },
                             {"stdin: has no frames"});
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{"m.yaml"}));
}
