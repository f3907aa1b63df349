// Choosing channel, z plane and position of a file's planes.
// SPDX-License-Identifier: MIT
#include "io/planes.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using test::expect_error;

namespace {

const std::vector<Axis> tzc{{Dimension::time, 3, {}}, {Dimension::z, 10, {}}, {Dimension::channel, 2, {"DAPI", "GFP"}}};

std::vector<std::int64_t> all(const Planes& planes) {
    std::vector<std::int64_t> list;
    for (std::int64_t k = 0; k < planes.frames; ++k) list.push_back(planes.first + k * planes.step);
    return list;
}

}  // namespace

TEST(Planes, are_those_of_one_channel_and_one_z_plane) {
    EXPECT_EQ(all(chosen_planes(tzc, {.channel = "1", .z = 4}, "m")), (std::vector<std::int64_t>{9, 29, 49}));
    const Planes by_name = chosen_planes(tzc, {.channel = "GFP", .z = 4}, "m");
    EXPECT_EQ(by_name.first, 9);
    EXPECT_EQ(by_name.described, "z 4, channel 1 (GFP)");
}

TEST(Planes, without_a_choice_the_error_lists_what_there_is) {
    expect_error<OptionError>(
        [] { chosen_planes(tzc, {}, "m.nd2"); },
        {"m.nd2: has 10 z planes and 2 channels, and a movie is one of them: choose by `z=0` to 9 and "
         "`channel=0` (DAPI) or 1 (GFP)"});
    expect_error<OptionError>([] { chosen_planes(tzc, {.channel = "RFP", .z = 0}, "m"); },
                              {"`channel=RFP` is not there"});
    expect_error<OptionError>([] { chosen_planes(tzc, {.channel = "0", .z = 10}, "m"); }, {"`z=10` is not there"});
}

TEST(Planes, z_planes_of_a_single_time_are_the_frames) {
    const std::vector<Axis> stack{{Dimension::channel, 1, {}}, {Dimension::z, 5, {}}};
    EXPECT_EQ(all(chosen_planes(stack, {}, "m")), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(all(chosen_planes(stack, {.z = 3}, "m")), (std::vector<std::int64_t>{3}));
}

TEST(Planes, a_channel_of_a_file_without_channels_is_an_error_but_for_the_first) {
    EXPECT_NO_THROW(require_single_planes({.channel = "0", .z = 0, .position = "0"}, "m"));
    expect_error<OptionError>([] { require_single_planes({.channel = "1"}, "m"); },
                              {"`channel=1` is not there: give `channel=0`"});
    expect_error<OptionError>([] { require_single_planes({.position = "2"}, "m"); }, {"`position=2` is not there"});
}
