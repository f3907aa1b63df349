// UTF-8 according to table 3-7 of the Unicode standard, and Latin-1 for other bytes.
// SPDX-License-Identifier: MIT
#include "base/utf8.hpp"

#include <gtest/gtest.h>

using namespace glint;

TEST(Utf8, characters_have_their_lengths) {
    EXPECT_EQ(utf8_length("a", 0), 1U);
    EXPECT_EQ(utf8_length("\xc2\xb5", 0), 2U);
    EXPECT_EQ(utf8_length("\xe2\x84\xab", 0), 3U);
    EXPECT_EQ(utf8_length("x\xf0\x9f\x94\xac", 1), 4U);
    for (const char* wrong :
         {"\xb5", "\xc2", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\xe2\x84"})
        EXPECT_EQ(utf8_length(wrong, 0), 0U) << wrong;
}

TEST(Utf8, text_that_is_none_is_latin1) {
    EXPECT_EQ(utf8_or_latin1("gr\xc3\xb6\xc3\x9f"
                             "e"),
              "gr\xc3\xb6\xc3\x9f"
              "e");
    EXPECT_EQ(utf8_or_latin1("gr\xf6\xdf"
                             "e"),
              "gr\xc3\xb6\xc3\x9f"
              "e");
    EXPECT_EQ(utf8_or_latin1(""), "");
}
