// How options in messages are found.
// SPDX-License-Identifier: MIT
#include "base/option.hpp"

#include <gtest/gtest.h>

namespace glint {
namespace {

std::string marked(Option option, std::string_view value) {
    if (option == Option::threads) return "";
    return "<" + std::string(option_names[std::size_t(option)]) + " " + std::string(value) + ">";
}

TEST(Option, is_found_in_a_message) {
    EXPECT_EQ(spell("give `roi_size=7`", marked), "give <roi_size 7>");
    EXPECT_EQ(spell("`column=x [nm]=2` or `where=frame < 9`: `z`", marked),
              "<column x [nm]=2> or <where frame < 9>: <z >");
    EXPECT_EQ(spell("`frames=0:`", marked), "<frames 0:>");
    EXPECT_EQ(spell("", marked), "");
}

TEST(Option, leaves_all_else_as_it_is) {
    for (const char* text :
         {"`glint top` shows it", "`roi_size", "`", "``", "a `b` c", "roi_size=7", "`Roi_size=7`", "`threads=2`"})
        EXPECT_EQ(spell(text, marked), text);
    EXPECT_EQ(spell("`glint top`, `b`sigma` and `gain`", marked), "`glint top`, `b<sigma > and <gain >");
}

TEST(Option, replaces_nothing_in_a_replacement) {
    EXPECT_EQ(spell("`gain=1`", [](Option, std::string_view) { return std::string("`offset=2`"); }), "`offset=2`");
}

}  // namespace
}  // namespace glint
