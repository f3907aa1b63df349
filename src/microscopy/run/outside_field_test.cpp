// Rows beyond the field of a measured PSF are counted in the coordinates of whole frames.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "run/row_checks.hpp"
#include "tests/field_psf.hpp"

using namespace glint;

namespace {

/// The field is 3 x 2 cells of 40 px from (-10, 5) px.
LocalizeOptions over_the_field() {
    LocalizeOptions options;
    options.psf = test::field_psf(PsfModel::SplineXYZNB);
    return options;
}

std::string warning_of(const LocalizeOptions& options, float x_px, float y_px, int outside) {
    Localizations rows;
    for (int k = 0; k < 200; ++k) {
        rows.frame.push_back(0);
        rows.x_px.push_back(k < outside ? x_px : 50), rows.y_px.push_back(k < outside ? y_px : 50);
    }
    RowsOutsideField field(options);
    field.add(rows);
    return field.warning();
}

}  // namespace

TEST(RowsOutsideField, are_counted_from_a_cell_beyond_it) {
    const LocalizeOptions options = over_the_field();
    EXPECT_EQ(warning_of(options, -49, 50, 200), "");
    EXPECT_EQ(warning_of(options, 149, 124, 200), "");
    EXPECT_EQ(warning_of(options, -51, 50, 2), "") << "one per cent";
    const std::string text = warning_of(options, -51, 50, 3);
    EXPECT_EQ(text.find("3 of 200 localizations lie outside"), 0u) << text;
    EXPECT_NE(text.find("x -10 to 110 px, y 5 to 85 px"), std::string::npos) << text;
    EXPECT_NE(warning_of(options, 50, 126, 200), "");
}

TEST(RowsOutsideField, are_counted_from_the_place_of_the_movie) {
    LocalizeOptions options = over_the_field();
    options.psf.field_x_px = 100;  // the camera's corner
    EXPECT_NE(warning_of(options, 51, 50, 200), "");
    EXPECT_EQ(warning_of(options, -149, 50, 200).find("200 of 200"), std::string::npos);
    // A region of whole frames: rows have their coordinates.
    options.region = {{100, 0, 64, 64}, 256, 256};
    EXPECT_EQ(warning_of(options, 149, 50, 200), "");
}

TEST(RowsOutsideField, of_one_psf_for_all_are_no_warning) {
    LocalizeOptions options = over_the_field();
    options.psf.table = options.psf.table->one_cell(0);
    EXPECT_EQ(warning_of(options, 5000, 5000, 200), "");
}
