// Tests that flags in messages exist.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <iterator>
#include <string>

#include "base/option.hpp"
#include "cli/spelling.hpp"
#include "tests/command_line.hpp"

using namespace glint;
using namespace glint::test;

TEST_F(CommandLine, has_a_flag_for_each_option_of_messages) {
    const std::string all = glint("completion bash").out;
    ASSERT_NE(all.find("--pixel-size"), std::string::npos);
    for (std::size_t k = 0; k < std::size(option_names); ++k) {
        if (Option(k) == Option::psf_number) continue;  // a flag only if a model has parameters
        std::string words = cli::flag_of(Option(k), "");
        if (words.starts_with('`')) words = words.substr(1, words.size() - 2);
        const std::size_t at = words.rfind("--");
        ASSERT_NE(at, std::string::npos) << words;
        const std::string flag = words.substr(at);
        if (at == 0)
            EXPECT_NE((" " + all).find(" " + flag + " "), std::string::npos) << flag;
        else  // the flag of one command
            EXPECT_NE(glint(words.substr(6, at - 6) + "--help").out.find(flag), std::string::npos) << words;
    }
}

TEST_F(CommandLine, spells_options_as_flags) {
    EXPECT_EQ(cli::in_flags("give `roi_size=7` or `pixel_size=100nm`, and `overwrite`"),
              "give --roi 7 or --pixel-size 100nm, and --overwrite");
    EXPECT_EQ(cli::in_flags("`where=frame < 9`, `column=frame=1`, `camera_name=\"A B\"`"),
              "--where \"frame < 9\", --column frame=1, --camera-name \"A B\"");
    EXPECT_EQ(cli::in_flags("`filter_where=frame < 9`; see `glint doctor`, `doctor_guide`"),
              "`glint filter --where \"frame < 9\"`; see `glint doctor`, `glint doctor --guide`");
}
