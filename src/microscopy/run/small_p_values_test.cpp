// Small p values of lone, bright rows give a warning if there are more than chance explains.
// SPDX-License-Identifier: MIT
#include "run/row_checks.hpp"

#include <gtest/gtest.h>

#include <random>

using namespace glint;

namespace {

/// `small`: the share of the brighter half with p values below 0.05 beyond the 5 % of chance.
Localizations rows_with(int count, double small, float emitters = 0) {
    Localizations rows;
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(0, 1);
    for (int k = 0; k < count; ++k) {
        const bool is_bright = k % 2 == 0;
        rows.frame.push_back(std::uint32_t(k));
        rows.photons.push_back(is_bright ? 2000 + uniform(random) : 500 + uniform(random));
        rows.p_value.push_back(is_bright && uniform(random) < float(small) ? 0.01F : uniform(random));
        rows.emitters.push_back(emitters);
        rows.status.push_back(std::uint8_t(FitStatus::converged));
    }
    return rows;
}

std::string warning_of(const Localizations& rows, const LoneSpots& lone = {}) {
    SmallPValues p_values;
    p_values.add(rows);
    return p_values.warning(lone);
}

}  // namespace

TEST(SmallPValues, that_chance_gives_are_no_warning) {
    EXPECT_EQ(warning_of(rows_with(2000, 0)), "");
    EXPECT_EQ(warning_of(rows_with(2000, 0.05)), "") << "a few pairs";
    EXPECT_EQ(warning_of(rows_with(22, 1)), "") << "11 bright rows are too few";
    EXPECT_EQ(warning_of(rows_with(2000, 1, 5)), "") << "of groups";
    Localizations failed = rows_with(2000, 1), none = failed;
    for (std::uint8_t& status : failed.status) status = std::uint8_t(FitStatus::iteration_limit);
    EXPECT_EQ(warning_of(failed), "");
    none.p_value.clear();
    EXPECT_EQ(warning_of(none), "");
}

TEST(SmallPValues, of_the_brighter_half_are_reported_with_what_to_do) {
    // 0.3 + 0.7 * 0.05 of the bright rows.
    const std::string text = warning_of(rows_with(4000, 0.3));
    EXPECT_NE(text.find(" % of the 2000 brighter lone localizations have a p value below 0.05"), std::string::npos)
        << text;
    EXPECT_NEAR(std::stod(text), 33.5, 5 * 100 * std::sqrt(0.335 * 0.665 / 2000)) << text;
    EXPECT_NE(text.find("Do not filter by p_value"), std::string::npos) << text;
    EXPECT_NE(text.find("photons may be too few"), std::string::npos) << text;
    Localizations alone = rows_with(4000, 0.3);
    alone.emitters.clear();
    EXPECT_EQ(warning_of(alone), text) << "with one emitter in each window";
}

TEST(SmallPValues, come_with_the_photons_that_are_missing) {
    const Localizations rows = rows_with(4000, 0.5);
    EXPECT_NE(
        warning_of(rows, {.lost_light = 0.11, .lost_light_error = 0.01}).find("photons are too few by about 11 %"),
        std::string::npos);
    EXPECT_EQ(warning_of(rows, {.lost_light = 0.11, .lost_light_error = 0.05}).find("11 %"), std::string::npos);
}

TEST(SmallPValues, lost_light_is_reported_even_if_p_values_are_right) {
    SmallPValues values;
    values.add(rows_with(2000, 0));
    LoneSpots lone;
    lone.lost_light = 0.2, lone.lost_light_error = 0.02;
    EXPECT_NE(values.warning(lone).find("photons are too few by about 20 % (16 to 24 %)"), std::string::npos)
        << values.warning(lone);
    lone.lost_light_error = 0.06;  // may be chance
    EXPECT_EQ(values.warning(lone), "");
}

TEST(SmallPValues, of_few_rows_and_lost_light_of_any_number_are_reported) {
    EXPECT_NE(warning_of(rows_with(26, 1)), "") << "13 bright rows, all of them small";
    SmallPValues none;
    LoneSpots lone;
    lone.lost_light = 0.1, lone.lost_light_error = 0.01;
    EXPECT_NE(none.warning(lone).find("photons are too few by about 10 %"), std::string::npos);
}

TEST(SmallPValues, of_a_model_with_z_say_that_z_may_be_wrong) {
    SmallPValues values;
    values.add(rows_with(4000, 0.3));
    EXPECT_NE(values.warning({}, true).find("z may be wrong by more than its stated error"), std::string::npos);
    EXPECT_EQ(values.warning({}, false).find("z may"), std::string::npos);
}
