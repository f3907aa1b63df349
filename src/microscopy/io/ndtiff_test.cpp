// The index of NDTiff: its records, and the errors of damaged or hostile ones. tests/judge/ has files of
// Micro-Manager's package.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using test::expect_error;

namespace {

std::string number(std::uint32_t value) {
    std::string bytes(4, '\0');
    std::memcpy(bytes.data(), &value, 4);
    return bytes;
}
std::string text(const std::string& value) { return number(std::uint32_t(value.size())) + value; }

/// A plane of 3x2 pixels at an offset of run_NDTiffStack.tif.
std::string record(const std::string& axes, std::uint32_t offset, std::uint32_t kind = 0, std::uint32_t width = 3,
                   const std::string& file = "run_NDTiffStack.tif", std::uint32_t compression = 0) {
    return text(axes) + text(file) + number(offset) + number(width) + number(2) + number(kind) + number(compression) +
           number(0) + number(0) + number(0);
}

class NdTiff : public ::testing::Test {
  protected:
    NdTiff() { folder_.write("run_NDTiffStack.tif", "0123456789abcdefghijklmn"); }
    std::unique_ptr<Movie> open(const std::string& index, const MovieChoice& choice = {}) {
        folder_.write("NDTiff.index", index);
        return open_movie(folder_.path(), choice);
    }
    static std::string pixels(Movie& movie) {
        FrameBlock block;
        movie.read(0, int(movie.info().frames), block);
        return {reinterpret_cast<const char*>(block.bytes.data()), block.count * block.frame_bytes()};
    }
    void expect_refused(const std::string& index, const char* because) {
        expect_error<Error>([&] { open(index); }, {because});
    }
    test::TemporaryFolder folder_;
};

}  // namespace

TEST_F(NdTiff, frames_are_in_the_order_of_time) {
    const auto movie = open(record("{\"time\": 1}", 6) + record("{\"time\": 0}", 12) + record("{\"time\": 2}", 0));
    EXPECT_EQ(pixels(*movie), "cdefgh6789ab012345");
    EXPECT_EQ(movie->info().type, PixelType::uint8);
    EXPECT_TRUE(movie->info().warnings.empty());
    const auto wide = open(record("{\"time\": 0}", 0, 1));
    EXPECT_EQ(wide->info().type, PixelType::uint16);
    EXPECT_EQ(pixels(*wide), "0123456789ab");
}

TEST_F(NdTiff, channels_have_names_or_numbers) {
    const std::string index =
        record("{\"time\": 0, \"channel\": \"Cy3\"}", 0) + record("{\"time\": 0, \"channel\": 7}", 6);
    EXPECT_EQ(pixels(*open(index, {.channel = "Cy3"})), "012345");
    EXPECT_EQ(pixels(*open(index, {.channel = "7"})), "6789ab");
    expect_refused(index, "2 channels");
}

TEST_F(NdTiff, positions_have_names_or_numbers) {
    std::string index;
    for (const char* well : {"A10", "A2", "B1"})
        index += record(std::string("{\"time\": 0, \"position\": \"") + well + "\"}", well[0] == 'B'   ? 12
                                                                                      : well[1] == '2' ? 6
                                                                                                       : 0);
    EXPECT_EQ(pixels(*open(index, {.position = "A10"})), "012345");
    EXPECT_EQ(pixels(*open(index, {.position = "0"})), "6789ab");
    EXPECT_EQ(open(index, {.position = "B1"})->info().planes, "position 2 (B1)");
    expect_refused(index, "3 positions, and a movie is one of them: choose by `position=0` (A2), 1 (A10) or 2 (B1)");
    const std::string numbered = record("{\"position\": 5}", 0) + record("{\"position\": 20}", 6);
    EXPECT_EQ(pixels(*open(numbered, {.position = "20"})), "6789ab");
    EXPECT_EQ(pixels(*open(numbered, {.position = "1"})), "6789ab");
}

TEST_F(NdTiff, a_missing_time_is_reported_and_of_a_double_one_the_later_counts) {
    const auto movie = open(record("{\"time\": 0}", 0) + record("{\"time\": 2}", 6));
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_NE(movie->info().warnings[0].find("time 1 is missing"), std::string::npos);
    EXPECT_EQ(pixels(*open(record("{\"time\": 0}", 0) + record("{\"time\": 1}", 12) + record("{\"time\": 0}", 6))),
              "6789abcdefgh");
}

TEST_F(NdTiff, a_damaged_index_is_refused) {
    const std::string good = record("{\"time\": 0}", 0);
    expect_refused(good.substr(0, 20), "names no image yet");
    expect_refused(good + number(0xffffffffu) + "x", "claims a text of 4294967295 bytes");
    expect_refused(record("{\"time\": ", 0), "no JSON");
    expect_refused(record("{\"time\": 0.5}", 0), "the axis time (0.5)");
    expect_refused(record("{\"time\": 0, \"tile\": 3}", 0) + record("{\"time\": 1, \"tile\": 4}", 0),
                   "the axis tile (3 and 4)");
    expect_refused(record("{\"tile\": \"a\"}", 0) + record("{\"tile\": \"b\"}", 0), "the axis tile");
    EXPECT_EQ(pixels(*open(record("{\"time\": 0, \"tile\": 4}", 0) + record("{\"time\": 0, \"tile\": 3}", 6))),
              "6789ab012345");
    EXPECT_EQ(open(record("{\"time\": 0, \"tile\": 3}", 0))->info().frames, 1);
    expect_refused(record("{\"time\": 0}", 0, 2), "colour");
    expect_refused(record("{\"time\": 0}", 0, 99), "kind 99");
    expect_refused(record("{\"time\": 0}", 0, 0, 3, "../secret.tif"), "is not in this folder");
    expect_refused(record("{\"time\": 0}", 0, 0, 3, ""), "is not in this folder");
    expect_refused(record("{\"time\": 0}", 0, 0, 3, "none.tif"), "none.tif");
    expect_refused(record("{\"time\": 0}", 0, 0, 0xffffffffu), "px");
    expect_refused(record("{\"time\": 0}", 0, 0, 3, "run_NDTiffStack.tif", 1), "compressed");
    expect_refused(record("{\"time\": 0}", 0) + record("{\"time\": 1}", 6, 0, 2),
                   "frames of a movie have one size and type");
    expect_refused(record("{\"time\": 0}", 23), "no frame is usable");
}
