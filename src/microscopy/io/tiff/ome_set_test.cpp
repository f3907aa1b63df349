// OME-TIFF sets: the existing files, compared with the metadata.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/movie_files.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/tiff_pages.hpp"

using namespace glint;
using test::expect_error;
using test::write_tiff;

namespace {

namespace fs = std::filesystem;

struct SetFile {
    std::string name;
    int frames = 2, channel = 0;
};

/// Returns the OME-XML of an image whose frames are in these files.
std::string image_of(const std::vector<SetFile>& files, const std::string& sizes) {
    std::string xml = "<Image><Pixels DimensionOrder=\"XYZTC\" " + sizes + ">\n";
    std::map<int, int> behind;  // frames of each channel
    for (const SetFile& file : files)
        for (int k = 0; k < file.frames; ++k)
            xml += fmt::format(
                "<TiffData FirstC=\"{}\" FirstT=\"{}\" IFD=\"{}\" PlaneCount=\"1\"><UUID FileName=\"{}\">"
                "urn:uuid:{}</UUID></TiffData>",
                file.channel, behind[file.channel]++, k, file.name, file.name);
    return xml + "</Pixels></Image>";
}

std::string xml_of(const std::string& images, const std::string& name) {
    return fmt::format("<?xml version=\"1.0\"?><OME UUID=\"urn:uuid:{}\">{}</OME>", name, images);
}

/// Writes the files of one image, each with the metadata of all files. Returns their paths.
std::vector<fs::path> write_set(const test::TemporaryFolder& folder, const std::vector<SetFile>& files,
                                const std::string& sizes) {
    std::vector<fs::path> paths;
    for (const SetFile& file : files)
        paths.push_back(
            write_tiff(folder / file.name, file.frames, {.description = xml_of(image_of(files, sizes), file.name)}));
    return paths;
}

/// Returns the page from which each frame was read.
std::vector<int> pages_of(Movie& movie) {
    FrameBlock block;
    movie.read(0, int(movie.info().frames), block);
    std::vector<int> pages;
    for (int k = 0; k < block.count; ++k) {
        int page = 0;
        while (std::byte(test::pattern_byte(page, 0)) != *block.frame(k)) ++page;
        pages.push_back(page);
    }
    return pages;
}

std::vector<std::string> warnings_of(const std::vector<fs::path>& paths) {
    return open_joined_movie(paths)->info().warnings;
}

}  // namespace

TEST(OmeSet, any_file_opens_all) {
    const test::TemporaryFolder folder;
    const auto set = write_set(folder, {{"a & b_0.tif"}, {"a & b_1.tif", 3}, {"a & b_2.tif"}}, "SizeT='7'");
    for (const auto& path : set) {
        const auto movie = open_movie(path);
        EXPECT_EQ(movie->info().frames, 7);
        EXPECT_EQ(movie->info().files, set);
        EXPECT_TRUE(movie->info().warnings.empty());
        EXPECT_EQ(pages_of(*movie), (std::vector<int>{0, 1, 0, 1, 2, 0, 1}));
    }
    for (const auto& some : {set, {set[2], set[0]}, {set[1], set[0], set[2]}})
        EXPECT_EQ(open_joined_movie(some)->info().frames, 7);
    EXPECT_EQ(without_continuations({set[1], set[2], set[0]}), (std::vector<fs::path>{set[1]}));
    expect_error<InputError>([&] { read_rois(set[0], Camera{}); }, {"is one of 3 files"});
}

TEST(OmeSet, escaped_names) {
    const test::TemporaryFolder folder;
    const auto path = write_tiff(folder / "a&b.tif", 2);
    write_tiff(folder / "c.tif", 2, {.description = xml_of(image_of({{"a&amp;b.tif"}, {"c.tif"}}, "SizeT='4'"), "x")});
    EXPECT_EQ(open_movie(folder / "c.tif")->info().files.front(), path);
}

TEST(OmeSet, files_that_are_missing_are_named) {
    const test::TemporaryFolder folder;
    const auto set = write_set(folder, {{"a0.tif"}, {"a1.tif"}, {"a2.tif"}}, "SizeT='6'");
    fs::remove(set[1]);
    for (const auto& path : {set[0], set[2]})
        expect_error<InputError>([&] { open_movie(path); }, {"is one of 3 files", "in a1.tif, which cannot be found"});
    EXPECT_EQ(warnings_of({set[0], set[2]}),
              (std::vector<std::string>{"a0.tif: frames of its OME-TIFF set are missing: a1.tif cannot be found "
                                        "beside it, and frames behind a gap have too small numbers"}));
    EXPECT_EQ(open_joined_movie({set[0], set[2]})->info().frames, 4);
}

TEST(OmeSet, pages_are_placed_as_the_metadata_say) {
    const test::TemporaryFolder folder;
    const auto open = [&](const std::string& sizes, const std::string& placed, const MovieChoice& choice = {}) {
        const std::string xml = "<OME><Image><Pixels " + sizes + ">" + placed + "</Pixels></Image></OME>";
        return open_movie(write_tiff(folder / "a.tif", 6, {.description = xml}), choice);
    };
    const char* backwards =
        "<TiffData FirstT='5' IFD='0'/><TiffData FirstT='4' IFD='1'/><TiffData FirstT='0' IFD='2' PlaneCount='4'/>";
    EXPECT_EQ(pages_of(*open("DimensionOrder='XYZCT' SizeT='6'", backwards)), (std::vector<int>{2, 3, 4, 5, 1, 0}));
    const char* by_channel = "<TiffData FirstC='1' IFD='0' PlaneCount='3'/><TiffData IFD='3' PlaneCount='3'/>";
    const std::string two = "DimensionOrder='XYZTC' SizeT='3' SizeC='2'";
    EXPECT_EQ(pages_of(*open(two, by_channel, {.channel = "0"})), (std::vector<int>{3, 4, 5}));
    EXPECT_EQ(pages_of(*open(two, by_channel, {.channel = "1"})), (std::vector<int>{0, 1, 2}));
    expect_error<OptionError>([&] { open(two, by_channel); }, {"2 channels"});
    const char* twice = "<TiffData FirstC='1' IFD='0' PlaneCount='3'/><TiffData IFD='2' PlaneCount='3'/>";
    expect_error<InputError>([&] { open(two, twice, {.channel = "0"}); }, {"page 3 is two planes"});
    const char* beyond = "<TiffData FirstC='2' IFD='0' PlaneCount='6'/>";
    expect_error<InputError>([&] { open(two, beyond, {.channel = "0"}); }, {"beyond the sizes"});
    const char* one_missing = "<TiffData FirstT='1' IFD='0'/><TiffData FirstT='0' IFD='1'/>";
    const auto fewer = open("DimensionOrder='XYZCT' SizeT='3'", one_missing);
    EXPECT_EQ(pages_of(*fewer), (std::vector<int>{1, 0}));
    ASSERT_EQ(fewer->info().warnings.size(), 1u);
    EXPECT_NE(fewer->info().warnings[0].find("say 3 frames, 2 are there"), std::string::npos);
}

TEST(OmeSet, positions_of_different_lengths_are_not_mixed) {
    const test::TemporaryFolder folder;
    const auto image = [](int first, int frames) {
        return fmt::format(
            "<Image><Pixels DimensionOrder='XYZCT' SizeT='{}'><TiffData IFD='{}' PlaneCount='{}'/></Pixels></Image>",
            frames, first, frames);
    };
    const auto path = write_tiff(folder / "a.tif", 5, {.description = "<OME>" + image(0, 2) + image(2, 3) + "</OME>"});
    EXPECT_EQ(pages_of(*open_movie(path, {.position = "0"})), (std::vector<int>{0, 1}));
    EXPECT_EQ(pages_of(*open_movie(path, {.position = "1"})), (std::vector<int>{2, 3, 4}));
}

TEST(OmeSet, files_that_were_renamed_are_known_by_their_uuid) {
    const test::TemporaryFolder folder;
    const auto set = write_set(folder, {{"a0.tif"}, {"a1.tif"}}, "SizeT='4'");
    fs::rename(set[0], folder / "b.tif");
    fs::rename(set[1], folder / "c.tif");
    EXPECT_TRUE(warnings_of({folder / "b.tif", folder / "c.tif"}).empty());
    const auto alone = write_set(folder, {{"d.tif"}}, "SizeT='2'");
    fs::rename(alone[0], folder / "e.tif");
    EXPECT_TRUE(warnings_of({folder / "e.tif"}).empty());
}

TEST(OmeSet, a_file_of_one_channel_is_a_movie) {
    const test::TemporaryFolder folder;
    const auto set = write_set(folder, {{"c0.tif", 4, 0}, {"c1.tif", 4, 1}}, "SizeT='4' SizeC='2'");
    EXPECT_EQ(warnings_of({set[1]}),
              (std::vector<std::string>{"c1.tif: only some channels of an OME-TIFF set; the others are "
                                        "in c0.tif"}));
    const auto split = write_set(folder, {{"d0.tif", 2, 0}, {"d1.tif", 2, 1}, {"d2.tif", 2, 0}, {"d3.tif", 2, 1}},
                                 "SizeT='4' SizeC='2'");
    EXPECT_EQ(open_movie(split[1])->info().files, (std::vector<fs::path>{split[1], split[3]}));
    EXPECT_EQ(open_movie(split[1], {.channel = "0"})->info().files, (std::vector<fs::path>{split[0], split[2]}));
    expect_error<OptionError>([&] { open_joined_movie({split[0], split[1]}); }, {"2 channels"});
    EXPECT_EQ(without_continuations(split), (std::vector<fs::path>{split[0], split[1]}));
}

TEST(OmeSet, other_positions_are_other_movies) {
    const test::TemporaryFolder folder;
    const std::string images = image_of({{"p0.tif"}}, "SizeT='2'") + image_of({{"p1.tif"}}, "SizeT='2'");
    for (const char* name : {"p0.tif", "p1.tif"}) write_tiff(folder / name, 2, {.description = xml_of(images, name)});
    EXPECT_TRUE(warnings_of({folder / "p0.tif"}).empty());
    EXPECT_TRUE(warnings_of({folder / "p1.tif"}).empty());
}

TEST(OmeSet, other_numbers_of_frames_than_the_metadata_say) {
    const test::TemporaryFolder folder;
    const auto warnings = [&](int frames, const std::string& sizes, const char* inside) {
        const std::string xml = "<OME><Image><Pixels " + sizes + ">" + inside + "</Pixels></Image></OME>";
        return warnings_of({write_tiff(folder / "a.tif", frames, {.description = xml})});
    };
    EXPECT_TRUE(warnings(6, "SizeT='6' SizeZ='1' SizeC='1'", "<TiffData/>").empty());
    EXPECT_TRUE(warnings(6, "SizeZ=\"6\"", "").empty());
    EXPECT_TRUE(warnings(6, "PhysicalSizeX='1'", "").empty()) << "nothing is said";
    EXPECT_EQ(
        warnings(4, "SizeT='3' SizeZ='2' SizeC='1'", "<TiffData/>"),
        (std::vector<std::string>{"a.tif: the OME metadata say 6 frames (SizeT 3, SizeZ 2, SizeC 1), 4 are there"}));
    EXPECT_EQ(warnings(4, "SizeT='3'", "").size(), 1u);
}

TEST(OmeSet, metadata_in_another_file) {
    const test::TemporaryFolder folder;
    const std::vector<SetFile> files = {{"m0.tif"}, {"m1.tif"}};
    const auto link = [&](const char* master) {
        return fmt::format("<OME UUID='urn:uuid:m1.tif'><BinaryOnly MetadataFile='{}' UUID='urn:uuid:m0.tif'/></OME>",
                           master);
    };
    const auto second = write_tiff(folder / "m1.tif", 2, {.description = link("m0.tif")});
    EXPECT_EQ(warnings_of({second}).size(), 1u) << "it cannot be read";
    write_tiff(folder / "m0.tif", 2,
               {.description = xml_of(image_of(files, "SizeT='4' PhysicalSizeX='0.1'"), "m0.tif")});
    EXPECT_EQ(open_movie(second)->info().frames, 4);
    EXPECT_TRUE(warnings_of({folder / "m0.tif", second}).empty());
    EXPECT_EQ(open_joined_movie({folder / "m0.tif", second})->info().pixel_size_nm, 100);
    folder.write("all.companion.ome", xml_of(image_of(files, "SizeT='4'"), "x"));
    write_tiff(folder / "m1.tif", 2, {.description = link("all.companion.ome")});
    EXPECT_EQ(open_movie(second)->info().frames, 4);
}

TEST(OmeSet, a_truncated_part_is_reported_once) {
    const test::TemporaryFolder folder;
    const auto set = write_set(folder, {{"NDTiffStack.tif", 5}, {"NDTiffStack_1.tif"}}, "SizeT='7'");
    fs::resize_file(set[0], fs::file_size(set[0]) / 2);
    EXPECT_EQ(warnings_of({set[0]}).size(), 2u);
}
