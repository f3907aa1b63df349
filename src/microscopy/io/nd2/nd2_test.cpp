// ND2 movies: types, channels, loops, compression; files that are truncated, old, or claim missing data.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <functional>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/nd2/variant.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using test::expect_error;

namespace {

template <class T>
std::string raw(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string head(int type, const std::string& name) {
    std::string out = {char(type), char(name.size() + 1)};
    for (const char one : name + '\0') out += std::string{one, '\0'};
    return out;
}

std::string value(const std::string& name, std::uint32_t number) { return head(3, name) + raw(number); }
std::string real(const std::string& name, double number) { return head(6, name) + raw(number); }
std::string flag(const std::string& name, bool set) { return head(1, name) + char(set); }
std::string text(const std::string& name, const std::string& it) { return head(8, name) + head(0, it).substr(2); }
std::string level(const std::string& name, const std::vector<std::string>& values) {
    std::string body, start = name.empty() ? std::string("\x0b\1\0\0", 4) : head(11, name);
    for (const std::string& one : values) body += one;
    return start + raw(std::uint32_t(values.size())) + raw(std::uint64_t(start.size() + 12 + body.size())) + body +
           std::string(8 * values.size(), '\0');
}

std::string chunk(const std::string& name, const std::string& data) {
    return raw(0x0abecedau) + raw(std::uint32_t(name.size())) + raw(std::uint64_t(data.size())) + name + data;
}

std::string packed(const std::string& bytes) {
    uLongf size = compressBound(bytes.size());
    std::string out(size, '\0');
    compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    return out.substr(0, size);
}

/// A movie of 4x2 px whose pixels are a ramp through the file.
struct Nd2 {
    std::uint32_t width = 4, height = 2, components = 1, bits = 16, compression = 2, row_bytes = 0;
    int frames = 3;
    std::string version = "Ver3.0";
    std::string experiment = {}, picture = {};  ///< values of SLxExperiment and SLxPictureMetadata
    bool has_map = true, has_attributes = true;
    std::string attributes_in_place = {};  ///< replaces the default attributes
    std::uint64_t map_place = 0;           ///< replaces the correct position

    std::size_t row() const { return row_bytes ? row_bytes : width * components * bits / 8; }
    std::string attributes() const {
        return level("SLxImageAttributes",
                     {value("uiWidth", width), value("uiWidthBytes", std::uint32_t(row())), value("uiHeight", height),
                      value("uiComp", components), value("uiBpcInMemory", bits),
                      value("uiSequenceCount", std::uint32_t(frames)), value("eCompression", compression)});
    }
    std::string pixels(int frame) const {
        std::string out(row() * height, '\0');
        for (std::size_t k = 0; k < out.size(); ++k) out[k] = char(std::size_t(frame) * out.size() + k);
        return out;
    }
    std::string bytes() const {
        std::string out = chunk("ND2 FILE SIGNATURE CHUNK NAME01!", version + std::string(58, '\0')), map;
        const auto add = [&](const std::string& name, const std::string& data) {
            map += name + raw(std::uint64_t(out.size())) + raw(std::uint64_t(data.size()));
            out += chunk(name + std::string(8, '\0'), data);
        };
        if (has_attributes) add("ImageAttributesLV!", attributes_in_place.empty() ? attributes() : attributes_in_place);
        if (!experiment.empty()) add("ImageMetadataLV!", experiment);
        if (!picture.empty()) add("ImageMetadataSeqLV|0!", picture);
        for (int k = 0; k < frames; ++k)
            add("ImageDataSeq|" + std::to_string(k) + "!",
                std::string(8, 't') + (compression == 0 ? packed(pixels(k)) : pixels(k)));
        const std::uint64_t place = map_place ? map_place : out.size();
        const std::string end = "ND2 CHUNK MAP SIGNATURE 0000001!" + raw(place);
        return has_map ? out + chunk("ND2 FILEMAP SIGNATURE NAME 0001!", map + end) : out;
    }
};

std::string loop(std::uint32_t type, std::uint32_t count, const std::string& inner = "") {
    std::vector<std::string> values = {value("eType", type), level("uLoopPars", {value("uiCount", count)})};
    if (!inner.empty()) values.push_back(level("ppNextLevelEx", {inner}));
    return level("", values);
}
std::string experiment(std::uint32_t type, std::uint32_t count, const std::string& inner = "") {
    std::vector<std::string> values = {value("eType", type), level("uLoopPars", {value("uiCount", count)})};
    if (!inner.empty()) values.push_back(level("ppNextLevelEx", {inner}));
    return level("SLxExperiment", values);
}

template <class T>
std::vector<T> frame_of(Movie& movie, std::int64_t frame) {
    FrameBlock block;
    movie.read(frame, 1, block);
    std::vector<T> out(std::size_t(block.width) * std::size_t(block.height));
    std::memcpy(out.data(), block.frame(0), out.size() * sizeof(T));
    return out;
}

}  // namespace

TEST(Nd2Movie, reads_types_padding_and_compression) {
    const test::TemporaryFolder folder;
    for (const std::uint32_t bits : {8u, 16u, 32u})
        for (const std::uint32_t compression : {0u, 2u})
            for (const std::uint32_t padding : {0u, 4u}) {
                Nd2 file{.bits = bits, .compression = compression, .row_bytes = 4 * bits / 8 + padding};
                const auto movie = open_movie(folder.write("m.nd2", file.bytes()));
                EXPECT_EQ(movie->info().type, bits == 8    ? PixelType::uint8
                                              : bits == 16 ? PixelType::uint16
                                                           : PixelType::float32);
                FrameBlock block;
                movie->read(1, 2, block);
                for (int frame = 0; frame < 2; ++frame)
                    for (std::size_t y = 0; y < 2; ++y)
                        EXPECT_EQ(std::memcmp(block.frame(frame) + y * bits / 2,
                                              file.pixels(1 + frame).data() + y * file.row(), bits / 2),
                                  0);
            }
}

TEST(Nd2Movie, gives_one_channel_and_its_metadata) {
    const test::TemporaryFolder folder;
    Nd2 file{.components = 2, .bits = 8};
    file.picture =
        level("SLxPictureMetadata",
              {real("dCalibration", 0.1), flag("bCalibrated", true),
               level("sPicturePlanes",
                     {level("sPlaneNew",
                            {level("a0", {text("sDescription", "DAPI")}), level("a1", {text("sDescription", "GFP")})}),
                      level("sSampleSetting", {level("a0", {level("pCameraSetting", {text("CameraUserName", "Prime")}),
                                                            real("dExposureTime", 30)})})})});
    const auto path = folder.write("m.nd2", file.bytes());
    expect_error<OptionError>([&] { open_movie(path); }, {"has 2 channels", "`channel=0` (DAPI) or 1 (GFP)"});
    const auto movie = open_movie(path, {.channel = "GFP"});
    EXPECT_EQ(movie->info().pixel_size_nm, 100);
    EXPECT_EQ(movie->info().exposure_ms, 30);
    EXPECT_EQ(movie->info().camera, "Prime");
    EXPECT_EQ(movie->info().planes, "channel 1 (GFP)");
    EXPECT_EQ(frame_of<std::uint8_t>(*movie, 0), (std::vector<std::uint8_t>{1, 3, 5, 7, 9, 11, 13, 15}));
}

TEST(Nd2Movie, loops_are_axes_in_their_order) {
    const test::TemporaryFolder folder;
    const Nd2 file{.bits = 8, .frames = 12, .experiment = experiment(2, 3, loop(1, 4))};  // positions, times
    const auto movie = open_movie(folder.write("m.nd2", file.bytes()), {.position = "1"});
    EXPECT_EQ(movie->info().frames, 4);
    EXPECT_EQ(frame_of<std::uint8_t>(*movie, 0)[0], 4 * 8);
    EXPECT_EQ(frame_of<std::uint8_t>(*movie, 3)[0], 7 * 8);
}

TEST(Nd2Movie, stopped_acquisition_gives_what_it_has) {
    const test::TemporaryFolder folder;
    const Nd2 file{.frames = 5, .experiment = experiment(1, 8)};
    const auto movie = open_movie(folder.write("m.nd2", file.bytes()));
    EXPECT_EQ(movie->info().frames, 5);
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_NE(movie->info().warnings[0].find("m.nd2: frame 6 of 8 is not in the file"), std::string::npos);
}

TEST(Nd2Movie, frames_beyond_its_loops_are_reported) {
    const test::TemporaryFolder folder;
    const Nd2 file{.frames = 5, .experiment = experiment(1, 4)};
    const auto movie = open_movie(folder.write("m.nd2", file.bytes()));
    EXPECT_EQ(movie->info().frames, 4);
    EXPECT_EQ(movie->info().warnings.at(0), "m.nd2: has 5 frames, and its loops 4: those beyond are left out");
}

TEST(Nd2Movie, without_its_map_chunks_are_looked_for) {
    const test::TemporaryFolder folder;
    Nd2 file{.has_map = false};
    const auto movie = open_movie(folder.write("m.nd2", file.bytes()));
    EXPECT_EQ(movie->info().frames, 3);
    EXPECT_NE(movie->info().warnings.at(0).find("has no map of its chunks"), std::string::npos);
    const auto cut = folder.write("cut.nd2", file.bytes().substr(0, file.bytes().size() - 3));
    EXPECT_EQ(open_movie(cut)->info().frames, 2);
    file.has_attributes = false;
    const auto unfinished = folder.write("unfinished.nd2", file.bytes());
    expect_error<InputError>([&] { open_movie(unfinished); }, {"unfinished.nd2: was not finished"});
}

TEST(Nd2Movie, refuses_what_it_cannot_read) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const Nd2& file, std::initializer_list<const char*> parts) {
        const auto path = folder.write("m.nd2", file.bytes());
        expect_error<InputError>([&] { open_movie(path); }, parts);
    };
    refused({.version = "Ver2.1"}, {"m.nd2: is an ND2 file of version 2.1", "NIS-Elements"});
    refused({.compression = 1}, {"lossy compression", "save it as TIFF"});
    refused({.bits = 24}, {"pixels of 24 bits"});
    refused({.width = 0}, {"`uiWidth: 0`, which is outside 1 to 65535"});
    refused({.height = 70000}, {"`uiHeight: 70000`"});
    refused({.row_bytes = 3}, {"rows of 3 bytes"});
    refused({.frames = 0}, {"without a single frame"});
    refused({.experiment = experiment(7, 3)}, {"a loop of type 7"});
    refused({.experiment = experiment(1, 3, loop(1, 3))}, {"two loops of the same kind"});
    refused({.map_place = 5}, {"map of chunks is not at byte 5"});
    refused({.map_place = std::uint64_t(-9)}, {"map of chunks is not at byte 18446744073709551607"});
    refused({.attributes_in_place = std::string("\x0b\xff", 2)}, {"ImageAttributesLV is damaged", "beyond its end"});
    refused(
        {.picture = level("SLxPictureMetadata",
                          {level("sPicturePlanes", {level("sPlaneNew", {level("a0", {value("uiCompCount", 3)})})})})},
        {"is a colour image"});
    const auto old = folder.write("old.nd2", std::string("\0\0\0\x0cjP  \r\n\x87\n....", 16));
    expect_error<InputError>([&] { open_movie(old); }, {"old.nd2: is a JPEG 2000 file"});
}

TEST(Nd2Movie, claims_are_compared_with_the_file) {
    const test::TemporaryFolder folder;
    Nd2 file{.frames = 1};
    file.attributes_in_place = Nd2{.width = 65535, .height = 65535, .frames = 1}.attributes();
    const auto large = folder.write("large.nd2", file.bytes());
    expect_error<InputError>([&] { open_movie(large); }, {"large.nd2: frame 1 of 1 is not in the file, or truncated"});
    file.attributes_in_place = Nd2{.height = 3, .frames = 1}.attributes();
    const auto movie = open_movie(folder.write("more.nd2", file.bytes()));
    FrameBlock block;
    expect_error<InputError>([&] { movie->read(0, 1, block); },
                             {"frame 0", "its chunk has 16 bytes of pixels, not 24"});
    file.compression = 0;
    file.attributes_in_place = Nd2{.height = 3, .compression = 0, .frames = 1}.attributes();
    const auto deflated = open_movie(folder.write("deflated.nd2", file.bytes()));
    expect_error<InputError>([&] { deflated->read(0, 1, block); }, {"frame 0", "unpacks to 16 bytes, not 24"});
    const auto lacks = folder.write("lacks.nd2", file.bytes());
    const auto shortened = open_movie(lacks);
    std::filesystem::resize_file(lacks, 300);
    expect_error<InputError>([&] { shortened->read(0, 1, block); }, {"lacks.nd2: frame 0 cannot be read"});
}

TEST(Nd2Metadata, is_bounded_in_depth) {
    std::string nested = value("x", 1);
    for (int k = 0; k < 100; ++k) nested = level("l", {nested});
    const auto bytes = std::as_bytes(std::span(nested));
    expect_error<std::runtime_error>([&] { nd2::parse_variant(bytes); }, {"deeper than 64 levels"});
}
