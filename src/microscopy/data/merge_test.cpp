// Merged tables, whole and in pieces.
// SPDX-License-Identifier: MIT
#include "glint/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "glint/error.hpp"
#include "tests/cut_table.hpp"
#include "tests/localization_table.hpp"

using namespace glint;
using namespace glint::test;

namespace {

/// Three tables with different columns and unordered rows; the second has no rows.
struct Tables {
    Localizations a = full_table(700), b, c = full_table(400);
    std::vector<Localizations> all;

    Tables() {
        b.pixel_size_nm = a.pixel_size_nm, b.frames = 50;
        c.p_value.clear(), c.extra["only c"] = {std::vector<double>(c.size(), 1), true};
        c.width = 80;
        std::reverse(c.frame.begin(), c.frame.end());
        a.frame[300] = 5, a.frame[10] = 90;
        all = {a, b, c};
    }
};

Localizations merged_in_pieces(std::vector<Localizations>& tables, FramesOfMerged frames, std::size_t bytes) {
    std::vector<CutTable> cut;
    for (const Localizations& table : tables) cut.emplace_back(table, 97);
    std::vector<TablePieces*> pieces;
    for (CutTable& table : cut) pieces.push_back(&table);
    MergedTable merged(pieces, frames, {}, bytes);
    Localizations out = joined(merged);
    EXPECT_EQ(merged.rows(), out.size());
    EXPECT_EQ(merged.like().size(), 1u);
    return out;
}

}  // namespace

TEST(Merge, rows_are_those_of_all_tables_in_the_order_of_frames) {
    Tables of;
    Warnings warnings;
    const Localizations all = merge(of.all, FramesOfMerged::as_they_are, warnings.sink());
    std::vector<std::pair<std::uint32_t, float>> rows, wanted;
    for (std::size_t k = 0; k < all.size(); ++k) rows.emplace_back(all.frame[k], all.x_px[k]);
    for (const Localizations& table : of.all)
        for (std::size_t k = 0; k < table.size(); ++k) wanted.emplace_back(table.frame[k], table.x_px[k]);
    std::stable_sort(wanted.begin(), wanted.end(), [](auto p, auto q) { return p.first < q.first; });
    EXPECT_EQ(rows, wanted);
    EXPECT_TRUE(all.p_value.empty());
    EXPECT_FALSE(all.extra.contains("only c"));
    EXPECT_EQ(all.extra.at("track").values.size(), all.size());
    EXPECT_TRUE(warnings.contain("left out, since not every table has them: only c, p_value"));
    EXPECT_EQ(all.width, 80);
}

TEST(Merge, frames_of_consecutive_movies_count_on) {
    Tables of;
    const Localizations all = merge(of.all, FramesOfMerged::consecutive);
    const std::int64_t before = of.a.frames + 50;
    EXPECT_EQ(all.frames, before + of.c.frames);
    EXPECT_EQ(all.frame[of.a.size()], of.c.frame[0] + before);
    of.all[1].frames = 4294967295;
    EXPECT_THROW(merge(of.all, FramesOfMerged::consecutive), OptionError);
}

TEST(Merge, pieces_are_the_same_rows) {
    Tables of;
    for (const FramesOfMerged frames : {FramesOfMerged::as_they_are, FramesOfMerged::consecutive})
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{20000}, default_piece_bytes})
            expect_same(merged_in_pieces(of.all, frames, bytes), merge(of.all, frames));
}

TEST(Merge, tables_of_other_pixels_and_no_tables_are_refused) {
    Tables of;
    of.all[2].pixel_size_nm += 1;
    EXPECT_THROW(merge(of.all), OptionError);
    EXPECT_THROW(merge({}), OptionError);
    std::vector<Localizations> empty(2);
    EXPECT_EQ(merge(empty).size(), 0u);
}
