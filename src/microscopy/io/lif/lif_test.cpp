// LIF files: planes in any order, several images, damage, and descriptions of missing data.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/movie_bytes.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

std::string utf16(const std::string& ascii) {
    std::string out;
    for (const char c : ascii) out += c, out += '\0';
    return out;
}

template <class T>
std::string number(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string channel(std::uint64_t step, const std::string& name = "Green", int bits = 16, int kind = 0) {
    return fmt::format(
        R"(<ChannelDescription DataType="{}" ChannelTag="0" Resolution="{}" LUTName="{}" BytesInc="{}"/>)", kind, bits,
        name, step);
}

std::string dimension(int id, const std::string& count, const std::string& step, const std::string& length = "") {
    return fmt::format(R"(<DimensionDescription DimID="{}" NumberOfElements="{}" Origin="0" Length="{}" Unit="m" )"
                       R"(BitInc="0" BytesInc="{}"/>)",
                       id, count, length, step);
}

/// An image of 4x2 px of 16 bits.
struct Image {
    std::string name = "Series001", block = "MemBlock_1";
    std::string channels = channel(0), dimensions = dimension(1, "4", "2", "3e-7") + dimension(2, "2", "8", "1e-7");
    std::string pixels;
    std::string attachment = {};

    std::string xml() const {
        return fmt::format(
            R"(<Element Name="{}"><Data><Image><ImageDescription><Channels>{}</Channels><Dimensions>{}</Dimensions>)"
            R"(</ImageDescription>{}</Image></Data><Memory Size="{}" MemoryBlockID="{}"/></Element>)",
            name, channels, dimensions, attachment, pixels.size(), block);
    }
};

std::string block_of(const std::string& name, const std::string& pixels, int version, std::uint64_t bytes) {
    const std::string size = version == 1 ? number(std::uint32_t(bytes)) : number(bytes);
    return number(0x70) + number(std::uint32_t(0)) + "\x2a" + size + "\x2a" + number(std::uint32_t(name.size())) +
           utf16(name) + pixels;
}

std::string lif(const std::vector<Image>& images, int version = 2, const std::string& folder_begin = "",
                const std::string& folder_end = "") {
    std::string xml =
        fmt::format(R"(<LMSDataContainerHeader Version="{}"><Element Name="whole.lif"><Children>)", version);
    xml += folder_begin;
    for (const Image& image : images) xml += image.xml();
    xml += folder_end + "</Children></Element></LMSDataContainerHeader>";
    std::string out = number(0x70) + number(std::uint32_t(2 * xml.size() + 5)) + "\x2a" +
                      number(std::uint32_t(xml.size())) + utf16(xml);
    for (const Image& image : images) out += block_of(image.block, image.pixels, version, image.pixels.size());
    return out;
}

const auto counts = counting<std::uint16_t>(8 * 12, 100);  // 12 planes

/// The planes of `counts`, of 8 px each.
std::vector<std::uint16_t> planes(const std::vector<int>& numbers) {
    std::vector<std::uint16_t> out;
    for (const int k : numbers) out.insert(out.end(), counts.begin() + 8 * k, counts.begin() + 8 * k + 8);
    return out;
}

/// 2 channels, 2 z planes and 3 times, with the channel varying fastest.
Image hyperstack() {
    return {.channels = channel(0, "Green") + channel(16, "Red"),
            .dimensions = dimension(1, "4", "2", "3e-7") + dimension(2, "2", "8", "1e-7") + dimension(3, "2", "32") +
                          dimension(4, "3", "64"),
            .pixels = bytes_of_numbers(counts)};
}

Image series(int frames) {
    return {.dimensions = dimension(1, "4", "2", "3e-7") + dimension(2, "2", "8", "1e-7") +
                          dimension(4, std::to_string(frames), "16"),
            .pixels = bytes_of_numbers(counts)};
}

}  // namespace

TEST(LifMovie, has_the_frames_and_facts_of_its_image) {
    const TemporaryFolder folder;
    for (const int version : {1, 2}) {
        Image image = series(12);
        image.attachment =
            R"(<Attachment Name="HardwareSetting"><ATLCameraSettingDefinition><WideFieldChannelConfigurator )"
            R"(CameraName="DFC9000"><WideFieldChannelInfo ExposureTime="0.02"/></WideFieldChannelConfigurator>)"
            R"(</ATLCameraSettingDefinition></Attachment>)";
        const auto movie = open_movie(folder.write("m.lif", lif({image}, version)));
        const MovieInfo& info = movie->info();
        EXPECT_EQ(info.width, 4);
        EXPECT_EQ(info.height, 2);
        EXPECT_EQ(info.frames, 12);
        EXPECT_EQ(info.type, PixelType::uint16);
        EXPECT_NEAR(*info.pixel_size_nm, 100, 1e-9);
        EXPECT_DOUBLE_EQ(*info.exposure_ms, 20);
        EXPECT_EQ(info.camera, "DFC9000");
        EXPECT_TRUE(info.warnings.empty());
        EXPECT_EQ(pixels<std::uint16_t>(*movie), counts);
    }
}

TEST(LifMovie, never_mixes_channels_and_z_planes) {
    const TemporaryFolder folder;
    const auto path = folder.write("m.lif", lif({hyperstack()}));
    expect_error<OptionError>([&] { open_movie(path); },
                              {"2 z planes and 2 channels", "`channel=0` (Green) or 1 (Red)"});
    const auto movie = open_movie(path, {.channel = "Red", .z = 1});
    EXPECT_EQ(pixels<std::uint16_t>(*movie), planes({3, 7, 11}));
    EXPECT_EQ(movie->info().planes, "z 1, channel 1 (Red)");
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(path, {.channel = "0", .z = 0})), planes({0, 4, 8}));
}

TEST(LifMovie, the_distances_say_the_order) {
    const TemporaryFolder folder;
    Image channels_last = hyperstack();  // times fastest, then z, then channels
    channels_last.channels = channel(0, "Green") + channel(96, "Red");
    channels_last.dimensions =
        dimension(1, "4", "2") + dimension(2, "2", "8") + dimension(3, "2", "48") + dimension(4, "3", "16");
    const auto path = folder.write("m.lif", lif({channels_last}));
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(path, {.channel = "1", .z = 1})), planes({9, 10, 11}));
    Image beside;  // the channels of a pixel are adjacent
    beside.channels = channel(0, "Green") + channel(2, "Red");
    beside.dimensions = dimension(1, "4", "4") + dimension(2, "2", "16");
    beside.pixels = bytes_of_numbers(counting<std::uint16_t>(16));
    folder.write("m.lif", lif({beside}));
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(path, {.channel = "Red"})),
              (std::vector<std::uint16_t>{2, 4, 6, 8, 10, 12, 14, 16}));
}

TEST(LifMovie, z_planes_of_a_single_time_are_the_frames) {
    const TemporaryFolder folder;
    Image stack = series(12);
    stack.dimensions = dimension(1, "4", "2") + dimension(2, "2", "8") + dimension(3, "12", "16");
    const auto path = folder.write("m.lif", lif({stack}));
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(path)), counts);
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(path, {.z = 5})), planes({5}));
}

TEST(LifMovie, an_image_of_several_is_a_position) {
    const TemporaryFolder folder;
    Image second = hyperstack();
    second.name = "Series&quot;2", second.block = "MemBlock_2";
    const auto path = folder.write("m.lif", lif({series(12), second}));
    expect_error<OptionError>([&] { open_movie(path); }, {"2 positions", "`position=0` (Series001) or 1 (Series\"2)"});
    EXPECT_EQ(pixels<std::uint16_t>(*open_movie(path, {.position = "Series001"})), counts);
    const auto movie = open_movie(path, {.channel = "1", .z = 0, .position = "1"});
    EXPECT_EQ(pixels<std::uint16_t>(*movie), planes({1, 5, 9}));
    EXPECT_EQ(movie->info().planes, "position 1 (Series\"2), z 0, channel 1 (Red)");
    expect_error<OptionError>([&] { open_movie(path, {.position = "2"}); }, {"`position=2` is not there"});
    const std::string in_folder =
        lif({series(12), second}, 2, R"(<Element Name="Day 1"><Children>)", "</Children></Element>");
    EXPECT_EQ(open_movie(folder.write("m.lif", in_folder), {.position = "Day 1/Series001"})->info().frames, 12);
}

TEST(LifMovie, reads_other_types) {
    const TemporaryFolder folder;
    Image image;
    image.channels = channel(0, "Gray", 8), image.dimensions = dimension(1, "4", "1") + dimension(2, "2", "4");
    image.pixels = "abcdefgh";
    const auto path = folder.write("m.lif", lif({image}));
    EXPECT_EQ(pixels<std::uint8_t>(*open_movie(path)), counting<std::uint8_t>(8, 'a'));
    image.channels = channel(0, "Gray", 32, 1), image.dimensions = dimension(1, "4", "4") + dimension(2, "2", "16");
    image.pixels = bytes_of_numbers(counting<float>(8, 0.5f));
    folder.write("m.lif", lif({image}));
    EXPECT_EQ(pixels<float>(*open_movie(path)), counting<float>(8, 0.5f));
}

TEST(LifMovie, truncated_file_has_its_complete_frames) {
    const TemporaryFolder folder;
    const std::string whole = lif({series(12)});
    const auto movie = open_movie(folder.write("m.lif", whole.substr(0, whole.size() - 17)));
    EXPECT_EQ(movie->info().frames, 10);
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_NE(movie->info().warnings[0].find("frame 11 of 12 is truncated (expected 16 bytes, found 15)"),
              std::string::npos);
    const auto stopped = open_movie(folder.write("m.lif", lif({series(20)})));  // of which the block has 12
    EXPECT_EQ(pixels<std::uint16_t>(*stopped), counts);
    ASSERT_EQ(stopped->info().warnings.size(), 1u);
    EXPECT_NE(stopped->info().warnings[0].find("says 20 frames, and 12 are there"), std::string::npos);
    const auto none = folder.write("m.lif", whole.substr(0, whole.size() - counts.size() * 2 - 5));
    expect_error<InputError>([&] { open_movie(none); }, {"`Series001` has no pixels in the file", "MemBlock_1"});
}

TEST(LifMovie, a_header_that_breaks_off_is_refused) {
    const TemporaryFolder folder;
    const std::string whole = lif({series(12)});
    for (std::size_t n = 9; n < whole.size() - counts.size() * 2; n += 31) {
        const auto path = folder.write("m.lif", whole.substr(0, n));
        expect_error<InputError>([&] { open_movie(path); }, {"m.lif"});
    }
}

TEST(LifMovie, refuses_what_is_not_read) {
    const TemporaryFolder folder;
    const auto refused = [&](const Image& image, std::initializer_list<const char*> parts) {
        const auto path = folder.write("m.lif", lif({image}));
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    const std::string xy = dimension(1, "4", "2") + dimension(2, "2", "8");
    const auto with = [&](const std::string& dimensions) {
        return Image{.dimensions = dimensions, .pixels = bytes_of_numbers(counts)};
    };
    refused(with(xy + dimension(10, "6", "16")), {"image `Series001` has 6 tiles of a mosaic"});
    refused(with(xy + dimension(5, "6", "16")), {"6 emission wavelengths"});
    refused(with(xy + dimension(77, "6", "16")), {"6 planes along its dimension 77"});
    refused(with(dimension(1, "4", "2") + dimension(3, "2", "8")), {"no frames of x and y"});
    refused(with(xy + dimension(4, "-1", "16")), {"says -1 planes"});
    refused(with(xy + dimension(4, "12", "0")), {"12 planes, rows or pixels, 0 bytes apart"});
    refused(with(xy + dimension(4, "12", "3")), {"m.lif", "contradict"});
    refused(with(xy + dimension(4, "12", "18446744073709551615")), {"distances beyond"});
    refused(with(xy + dimension(4, "1099511627776", "16") + dimension(3, "1099511627776", "16")),
            {"more than a file has"});
    refused(with(dimension(1, "70000", "2") + dimension(2, "2", "8")), {"70000x2 px"});
    refused(with(dimension(1, "4", "3") + dimension(2, "2", "8")), {"pixels of 2 bytes, 3 bytes apart"});
    refused(with(dimension(1, "4", "2") + dimension(2, "60000", "8")), {"less than one frame"});
    refused(Image{.channels = "", .pixels = bytes_of_numbers(counts)}, {"does not describe its channels"});
    refused(Image{.channels = channel(0, "", 16, 7), .pixels = bytes_of_numbers(counts)}, {"unknown type"});
    refused(Image{.channels = channel(1 << 20), .pixels = bytes_of_numbers(counts)}, {"distances beyond"});
    refused(Image{.pixels = ""}, {"has no pixels in the file"});
    const auto path = folder.write("m.lif", lif({}));
    expect_error<InputError>([&] { open_movie(path); }, {"names no image", "damaged"});
}

TEST(LifMovie, blocks_that_claim_too_much_end_the_file) {
    const TemporaryFolder folder;
    const std::string whole = lif({series(12)});
    for (const std::uint64_t claimed : {~std::uint64_t(0), std::uint64_t(1) << 40}) {
        const std::size_t head = 9 + 8 + 5 + 2 * 10;
        const std::string bytes = whole.substr(0, whole.size() - counts.size() * 2 - head) +
                                  block_of("MemBlock_1", bytes_of_numbers(counts), 2, claimed);
        EXPECT_EQ(pixels<std::uint16_t>(*open_movie(folder.write("m.lif", bytes))), counts);
    }
}
