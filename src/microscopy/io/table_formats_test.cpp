// Each format of tables is complete: it recognises its files by name and content, and reports what it cannot store.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "io/localization_formats.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using glint::test::TemporaryFolder;

namespace {

Localizations two_rows() {
    Localizations table;
    table.frame = {0, 3};
    table.x_px = {1.25F, 7.5F}, table.y_px = {2.5F, 3.25F};
    table.photons = {500, 900}, table.bg = {5, 6}, table.sx_px = table.sy_px = {1.25F, 1.5F};
    table.lpx_px = table.lpy_px = {0.125F, 0.25F};
    table.width = table.height = 16, table.frames = 10, table.pixel_size_nm = 100;
    return table;
}

}  // namespace

TEST(TableFormats, have_endings_of_their_own_and_a_name) {
    std::set<std::string> names, endings;
    for (const LocalizationFormat& format : localization_formats()) {
        EXPECT_TRUE(names.insert(format.name).second) << format.name;
        ASSERT_FALSE(format.endings.empty()) << format.name;
        for (const std::string& ending : format.endings)
            EXPECT_TRUE(!format.is_written || endings.insert(ending).second) << ending;
    }
}

TEST(TableFormats, that_are_written_are_recognised_and_hold_positions_and_frames) {
    const TemporaryFolder folder;
    for (const LocalizationFormat& format : localization_formats())
        for (const std::string& ending : format.endings) {
            if (!format.is_written) continue;
            const auto path = folder / ("table" + ending);
            EXPECT_EQ(localization_format(path).name, format.name) << ending;
            const Localizations table = two_rows();
            write_localizations(path, table);
            const Localizations read = read_localizations(path, {}, 100, {.first_frame = {}, .columns = {}});
            ASSERT_EQ(read.size(), 2U) << ending;
            EXPECT_EQ(read.frame[1] - read.frame[0], 3U) << ending;
            for (std::size_t k = 0; k < 2; ++k) {
                // The texts have at least five decimals of a nanometre.
                EXPECT_NEAR(read.x_px[k], table.x_px[k], 1e-5) << ending;
                EXPECT_NEAR(read.y_px[k], table.y_px[k], 1e-5) << ending;
            }
        }
}

TEST(TableFormats, that_lose_columns_say_so_to_people_too) {
    for (const TableFormat& format : table_formats())
        EXPECT_EQ(format.left_out != nullptr, std::string(format.cannot_hold) != "") << format.name;
}

TEST(TableFormats, are_named_where_a_name_is_none) {
    try {
        localization_format("table.xyz");
        FAIL();
    } catch (const OptionError& error) {
        for (const LocalizationFormat& format : localization_formats())
            EXPECT_EQ(std::string(error.what()).find(format.name) != std::string::npos, format.is_written)
                << error.what();
    }
}
