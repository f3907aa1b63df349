// Molecule lists of Insight3, written word by word according to their layout.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <optional>

#include "glint/localization_io.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

template <class T>
void put(std::string& bytes, T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes.append(raw, sizeof(T));
}

struct ListedMolecule {
    float xc = 1, yc = 1, zc = 0;
    std::int32_t frame = 1, category = 1;
    float x = xc, y = yc, width = 320, aspect = 1;
};

std::string list_of(const std::vector<ListedMolecule>& molecules, std::int32_t status = 6,
                    std::optional<std::int32_t> claimed = {}) {
    std::string bytes = "M425";
    for (const std::int32_t word : {1, status, claimed.value_or(std::int32_t(molecules.size()))}) put(bytes, word);
    for (const ListedMolecule& one : molecules) {
        for (const float value :
             {one.x, one.y, one.xc, one.yc, 1000.0f, 12566.4f, one.width, 0.0f, one.aspect, 20.0f, 1.0f})
            put(bytes, value);
        for (const std::int32_t value : {one.category, 7, one.frame, 1, -1}) put(bytes, value);
        put(bytes, one.zc), put(bytes, one.zc);
    }
    put(bytes, std::int32_t(0));
    return bytes;
}

}  // namespace

TEST(Insight3, the_first_pixels_centre_is_at_one_and_frames_count_from_one) {
    TemporaryFolder folder;
    Warnings warnings;
    const auto path = folder.write("a.bin", list_of({{21, 31, -750, 1, 1}, {1, 3.5f, 20, 5, 1, 1, 3.5f, 400, 4}}));
    const Localizations out = read_localizations(path, warnings.sink(), 160);
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 4}));
    EXPECT_EQ(out.x_px, (std::vector<float>{20, 0}));
    EXPECT_EQ(out.y_px, (std::vector<float>{30, 2.5f}));
    EXPECT_EQ(out.z_nm, (std::vector<float>{-750, 20}));
    EXPECT_EQ(out.sx_px, (std::vector<float>{1, 0.625f})) << "the width is 2 sigma, and the geometric mean of x and y";
    EXPECT_EQ(out.sy_px, (std::vector<float>{1, 2.5f}));
    EXPECT_TRUE(out.photons.empty() && out.bg.empty());
    EXPECT_FLOAT_EQ(float(out.extra.at("area").values[0]), 12566.4f);
    EXPECT_EQ(out.extra.at("background").values[1], 20);
    EXPECT_FALSE(out.extra.contains("category") || out.extra.contains("link"));
    EXPECT_TRUE(warnings.contain("the table has no photons"));
    EXPECT_EQ(warnings.all.size(), 1u);
}

TEST(Insight3, corrected_positions_categories_and_an_unknown_pixel_size_are_reported) {
    TemporaryFolder folder;
    Warnings warnings;
    const auto path = folder.write("a.bin", list_of({{21, 31, 0, 1, 1, 20.5f, 31}, {5, 5, 0, 2, 9}}));
    const Localizations out = read_localizations(path, warnings.sink());
    EXPECT_EQ(out.x_px[0], 20);
    EXPECT_TRUE(out.sx_px.empty() && out.z_nm.empty()) << "2D: all depths are 0";
    EXPECT_TRUE(out.extra.at("category").is_integer);
    EXPECT_TRUE(warnings.contain("differ by up to 0.50 px"));
    EXPECT_TRUE(warnings.contain("rows of several values of category"));
    EXPECT_TRUE(warnings.contain("`table_pixel_size=160nm`"));
}

TEST(Insight3, settings_after_the_molecules_describe_the_movie) {
    TemporaryFolder folder;
    const std::string settings =
        "<?xml version=\"1.0\"?><xml><settings><pixel_size type=\"float\">107.5</pixel_size></settings><movie>"
        "<movie_x type=\"int\">300</movie_x><movie_y type=\"int\">200</movie_y><movie_l "
        "type=\"int\">5</movie_l></movie></xml>";
    const Localizations out = read_localizations(folder.write("a.bin", list_of({{2, 3}}) + settings), {}, 160);
    EXPECT_EQ(out.pixel_size_nm, 107.5);
    EXPECT_EQ(out.width, 300);
    EXPECT_EQ(out.height, 200);
    EXPECT_EQ(out.frames, 5);
    EXPECT_FLOAT_EQ(out.sx_px[0], float(160 / 107.5));
}

TEST(Insight3, lists_are_no_movies) {
    TemporaryFolder folder;
    EXPECT_HAS(message_of<InputError>([&] {
                   open_movie(folder.write("a.bin", list_of({{2, 3}})));
               }),
               "is a table, and no movie");
}

TEST(Insight3, large_lists_are_read_in_pieces) {
    TemporaryFolder folder;
    std::vector<ListedMolecule> molecules(150'000);
    for (std::size_t k = 0; k < molecules.size(); ++k)
        molecules[k].xc = float(k % 777) + 1, molecules[k].frame = std::int32_t(k / 10) + 1;
    const Localizations out = read_localizations(folder.write("a.bin", list_of(molecules)));
    ASSERT_EQ(out.size(), molecules.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
        ASSERT_EQ(out.x_px[k], float(k % 777));
        ASSERT_EQ(out.frame[k], k / 10);
    }
}

TEST(Insight3, damaged_lists_are_refused) {
    TemporaryFolder folder;
    const auto read = [&](const std::string& bytes) {
        return message_of<InputError>([&] { read_localizations(folder.write("a.bin", bytes)); });
    };
    const std::vector<ListedMolecule> two(2);
    EXPECT_HAS(read("M425\1\0"), "a.bin: is cut off: it has");
    EXPECT_HAS(read(list_of(two, 6, 2'000'000'000)), "claims 2000000000 molecules, the file has room for 2");
    EXPECT_HAS(read(list_of(two, 6, 2).substr(0, 100)), "claims 2 molecules, the file has room for 1");
    EXPECT_HAS(read(list_of(two, 6, std::numeric_limits<std::int32_t>::min())), "claims -2147483648 molecules");
    EXPECT_HAS(read(list_of(two, 2)), "was not closed (status 2, not 6)");
    EXPECT_HAS(read(list_of({{1, 1, 0, -3}})), "frame number -3");
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(read_localizations(folder.write("b.bin", list_of({{nan, 1}, {1, 1}}))).size(), 1u);
    EXPECT_EQ(read_localizations(folder.write("c.bin", list_of({}))).size(), 0u);
}
