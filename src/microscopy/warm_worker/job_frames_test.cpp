// Frames of a job from memory and from complete and truncated files.
// SPDX-License-Identifier: MIT
#include "warm_worker/job_frames.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>

#include "tests/simulated_movie.hpp"
#include "tests/temporary_folder.hpp"

namespace glint::warm_worker {
namespace {

using gpu::lease::Descriptor;

constexpr int side = 32;
constexpr std::size_t frame_bytes = side * side;

struct WarmJobFrames : testing::Test {
    WarmJobFrames()
        : movie(make_job(info_of(), Camera(), options()), PixelType::uint8, *SharedMemory::create(1 << 16)) {
        text.resize(9 * frame_bytes);
        for (std::size_t k = 0; k < text.size(); ++k) text[k] = char(k / 7);
        file = Descriptor(::open(folder.write("frames", text).c_str(), O_RDONLY | O_CLOEXEC));
    }
    static MovieInfo info_of() {
        MovieInfo info;
        info.width = info.height = side, info.frames = 10, info.type = PixelType::uint8;
        return info;
    }
    static LocalizeOptions options() {
        LocalizeOptions some;
        some.psf.sigma_nm = 130, some.pixel_size_nm = 100;
        return some;
    }
    /// Returns frames at these offsets of the file.
    JobFrames in_file(const std::vector<std::uint64_t>& places) const {
        std::memcpy(movie.memory.data(), places.data(), places.size() * sizeof places[0]);
        return JobFrames(movie, {FramesFrom::file, std::uint32_t(places.size()), 0, 0, 0, 0}, &file);
    }
    static std::string read(const JobFrames& frames, int first, int count) {
        std::string bytes(std::size_t(count) * frame_bytes, '\0');
        frames.read(first, count, reinterpret_cast<std::byte*>(bytes.data()));
        return bytes;
    }
    std::string frame(std::size_t at) const { return text.substr(at, frame_bytes); }

    const test::TemporaryFolder folder;
    SharedMovie movie;
    std::string text;
    Descriptor file;
};

}  // namespace

TEST_F(WarmJobFrames, come_from_memory) {
    std::memcpy(movie.memory.data() + 64, text.data(), 4 * frame_bytes);
    const JobFrames frames(movie, {FramesFrom::memory, 4, 64, 0, 0, 0}, nullptr);
    EXPECT_EQ(read(frames, 1, 3), text.substr(frame_bytes, 3 * frame_bytes));
}

TEST_F(WarmJobFrames, come_from_a_file) {
    const JobFrames frames = in_file({5, 5 + frame_bytes, 4 * frame_bytes, 0});
    std::memset(movie.memory.data(), 0xff, 64);  // the client overwrites its memory
    try {
        EXPECT_EQ(read(frames, 0, 4), frame(5) + frame(5 + frame_bytes) + frame(4 * frame_bytes) + frame(0));
        EXPECT_EQ(read(frames, 1, 2), frame(5 + frame_bytes) + frame(4 * frame_bytes));
    } catch (const NotThere&) {
        GTEST_SKIP() << "this file system has no reads that do not wait";
    }
}

TEST_F(WarmJobFrames, are_not_there) {
    EXPECT_THROW(read(in_file({8 * frame_bytes, 8 * frame_bytes + 1}), 0, 2), NotThere) << "a byte is missing";
    EXPECT_THROW(read(in_file({~std::uint64_t(0)}), 0, 1), NotThere);
    file = {};
    EXPECT_THROW(read(in_file({0}), 0, 1), NotThere);
    EXPECT_THROW(read(JobFrames(movie, {FramesFrom::file, 1, 0, 0, 0, 0}, nullptr), 0, 1), NotThere);
}

}  // namespace glint::warm_worker
