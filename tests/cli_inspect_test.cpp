// Tests estimates from a movie: `glint inspect`, `localize ... auto`, and warnings about wrong camera values.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "glint/localization_io.hpp"
#include "tests/command_line.hpp"

using namespace glint;
using namespace glint::test;

TEST_F(CommandLine, inspect_estimates_what_localize_needs_and_says_what_is_missing) {
    make_movie("m.tif", 400);
    const Ended told = glint("inspect m.tif");
    EXPECT_EQ(told.exit_code, 0) << told.err;
    for (const char* part : {"400 of 48x48 px, uint16", "no pixel size, offset or gain", "e-/ADU",
                             "if the read noise is 0", "glint localize m.tif -o locs.hdf5 --sigma 1.",
                             "--pixel-size PIXEL_SIZE --offset ", "PIXEL_SIZE: edge of a camera pixel"})
        EXPECT_NE(told.out.find(part), std::string::npos) << part << "\n" << told.out;
    const Ended done = glint("inspect m.tif --json -q --pixel-size 100nm");
    const auto json = nlohmann::json::parse(done.out);
    EXPECT_EQ(done.err, "");
    EXPECT_EQ(json.at("still_needed"), "");
    const auto within = [&](const nlohmann::json& estimate, double truth) {
        EXPECT_NEAR(estimate.at("value").get<double>(), truth, 3 * estimate.at("error").get<double>());
    };
    within(json.at("noise").at("gain_e_per_adu"), 1);
    within(json.at("noise").at("offset_adu"), 100);
    within(json.at("spots").at("sigma_px"), 1.3);
    EXPECT_TRUE(json.at("counts").at("saturation_adu").is_null());
    const std::string next = json.at("localize").get<std::string>().substr(std::string("glint ").size());
    EXPECT_EQ(glint(next + " -q").exit_code, 0) << next;
    EXPECT_TRUE(exists("locs.hdf5"));
}

TEST_F(CommandLine, inspect_hands_on_no_value_that_it_hardly_knows) {
    ASSERT_EQ(glint("simulate -o s.tif --structure random --size 48 --frames 100 --background 300 --photons 5000:10000")
                  .exit_code,
              0);
    const auto json = nlohmann::json::parse(glint("inspect s.tif --json -q").out);
    const auto &gain = json.at("noise").at("gain_e_per_adu"), &offset = json.at("noise").at("offset_adu");
    ASSERT_LT(gain.at("error").get<double>(), 0.1 * gain.at("value").get<double>());
    ASSERT_GT(offset.at("error").get<double>(), 10) << "on so much light the line's zero is far away";
    const std::string next = json.at("localize"), needed = json.at("still_needed");
    EXPECT_NE(next.find(" --offset OFFSET --gain 0."), std::string::npos) << next;
    EXPECT_NE(needed.find("OFFSET: counts of a dark pixel, ADU (from dark frames; the movie's 1"), std::string::npos)
        << needed;
    EXPECT_EQ(needed.find("GAIN"), std::string::npos) << needed;

    make_movie("m.tif", 400);
    const auto drift =
        nlohmann::json::parse(glint("inspect m.tif --json -q").out).at("counts").at("background_drift_adu");
    ASSERT_LT(std::abs(drift.at("value").get<double>()), 3 * drift.at("error").get<double>()) << "there is none";
    EXPECT_NE(glint("inspect m.tif").out.find(" ADU over the movie, which may be chance\n"), std::string::npos);
}

TEST_F(CommandLine, inspect_takes_what_is_given) {
    make_movie("m.tif", 80);
    const auto json = nlohmann::json::parse(
        glint("inspect m.tif --json -q --gain 1 --offset 100 --readnoise 0 --sigma 1.3px --pixel-size 0.1um").out);
    EXPECT_EQ(json.at("noise").at("gain_e_per_adu").at("value"), 1);
    EXPECT_EQ(json.at("noise").at("offset_adu").at("value"), 100);
    EXPECT_NE(json.at("localize").get<std::string>().find("--sigma 1.3px --pixel-size 100nm --offset 100 --gain 1"),
              std::string::npos)
        << json.at("localize");
    expect_fails("inspect nothing.tif", 3, "nothing.tif");
    expect_fails("inspect m.tif --gain 0", 2, "a gain of 0");
    expect_fails("inspect m.tif --sigma 130nm", 2, "pixel size");
}

TEST_F(CommandLine, inspect_compares_a_camera_with_the_movie) {
    make_movie("m.tif", 200);
    const auto camera = [&](const std::string& name, const std::string& text) {
        std::ofstream(folder_ / name) << "pixel_size = \"100nm\"\n" << text;
    };
    camera("right.toml", "offset = 100\ngain = 1\n"), camera("wrong.toml", "offset = 100\ngain = 3\n");
    camera("half.toml", "offset = 100\n");
    const Ended told = glint("inspect m.tif --camera right.toml");
    EXPECT_EQ(told.exit_code, 0) << told.err;
    for (const char* part :
         {"gain 1 e-/ADU (right.toml)", "1 e-/ADU (given)", "100 ADU (given)", "noise check", " nm)"})
        EXPECT_NE(told.out.find(part), std::string::npos) << part << "\n" << told.out;
    EXPECT_EQ(told.err.find("warning"), std::string::npos) << told.err;
    const auto right = nlohmann::json::parse(glint("inspect m.tif --camera right.toml --json -q").out);
    const auto& check = right.at("noise_check");
    EXPECT_NEAR(check.at("value").get<double>(), 1, 5 * check.at("error").get<double>());
    EXPECT_EQ(right.at("likeliest_mistake"), "");
    const std::string next = right.at("localize");
    EXPECT_NE(next.find(" --camera right.toml"), std::string::npos) << next;
    EXPECT_EQ(next.find("--gain"), std::string::npos) << next;
    EXPECT_EQ(glint(next.substr(std::string("glint ").size()) + " -q").exit_code, 0) << next;
    const Ended warned = glint("inspect m.tif --camera wrong.toml");
    EXPECT_EQ(warned.exit_code, 0) << warned.err;
    EXPECT_NE(warned.err.find("m.tif: by its own noise, likeliest wrong: the gain ("), std::string::npos) << warned.err;
    // Values that --camera lacks are estimated, and the command line overrides it.
    const auto half = nlohmann::json::parse(glint("inspect m.tif --camera half.toml --json -q").out);
    EXPECT_GT(half.at("noise").at("gain_e_per_adu").at("error"), 0);
    EXPECT_EQ(half.at("noise").at("offset_adu").at("error"), 0);
    EXPECT_TRUE(half.at("noise_check").is_null());
    EXPECT_NE(half.at("localize").get<std::string>().find("--camera half.toml --gain "), std::string::npos);
    const auto mended = nlohmann::json::parse(glint("inspect m.tif --camera wrong.toml --gain 1 --json -q").out);
    EXPECT_EQ(mended.at("noise_check"), check);
    expect_fails("inspect m.tif --sensor-roi 3,4", 2, "this camera has none");
    expect_fails("inspect m.tif --camera none.toml", 3, "none.toml");
}

TEST_F(CommandLine, localize_estimates_what_it_is_told_to) {
    make_movie("m.tif", 400);
    const std::string estimating = " --pixel-size 100nm --offset auto --gain auto --sigma auto";
    const Ended told = glint("localize m.tif -o a.hdf5" + estimating);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    EXPECT_NE(told.err.find(" e-/ADU (estimated)"), std::string::npos) << told.err;
    EXPECT_NE(told.out.find("estimated"), std::string::npos) << told.out;
    EXPECT_NE(told.out.find("e-/ADU, sigma 1."), std::string::npos) << told.out;
    const Localizations found = read_localizations(folder_ / "a.hdf5");
    EXPECT_NE(found.history.back().find("Estimated from the movie: offset "), std::string::npos)
        << found.history.back();
    // A second run gives the same result. With all values given, nothing is estimated.
    EXPECT_EQ(glint("localize m.tif -o a.hdf5 --resume" + estimating).exit_code, 0);
    EXPECT_EQ(glint("localize m.tif -o b.hdf5" + given).out.find("estimated"), std::string::npos);
    EXPECT_EQ(read_localizations(folder_ / "b.hdf5").history.back().find("Estimated"), std::string::npos);
    // Photon numbers do not depend on the gain: the same molecules are equally bright within the error of the gain.
    const auto mean = [](const std::vector<float>& values) {
        double sum = 0;
        for (const float value : values) sum += value;
        return sum / double(values.size());
    };
    EXPECT_NEAR(mean(found.photons) / mean(read_localizations(folder_ / "b.hdf5").photons), 1, 0.15);
}

TEST_F(CommandLine, localize_refuses_to_estimate_what_the_movie_does_not_tell) {
    make_movie("m.tif", 2);
    expect_fails("localize m.tif -o o.hdf5 -q --pixel-size 100nm --offset 100 --sigma 130nm --gain auto", 2,
                 "--gain auto: cannot be estimated");
    make_movie("few.tif", 24);
    expect_fails("localize few.tif -o o.hdf5 -q --pixel-size 100nm --offset auto --sigma 130nm --gain auto", 2,
                 "ADU is too uncertain to use");
    expect_fails("localize m.tif -o o.hdf5 -q --pixel-size 100nm --offset nan --sigma 130nm --gain 1", 2,
                 "auto, not nan");
    expect_fails("simulate -o s.tif --gain auto", 2, "--gain");
    EXPECT_FALSE(exists("o.hdf5"));
}

TEST_F(CommandLine, noise_check_has_an_error_and_names_the_likeliest_mistake) {
    make_movie("m.tif", 400);
    const auto wrong = nlohmann::json::parse(
        glint("localize m.tif -o a.hdf5 --json -q --pixel-size 100nm --sigma 130nm --offset 100 --gain 3").out);
    EXPECT_EQ(wrong.at("likeliest_mistake").get<std::string>().find("likeliest wrong: the gain ("), 0u) << wrong;
    EXPECT_NEAR(wrong.at("noise_check").get<double>(), std::sqrt(3), 0.05);
    const Ended told = glint("localize m.tif -o b.hdf5 -q --pixel-size 100nm --sigma 130nm --offset 100 --gain 3");
    EXPECT_NE(told.err.find("m.tif: by its own noise, likeliest wrong: the gain"), std::string::npos) << told.err;
    const auto right = nlohmann::json::parse(glint("localize m.tif -o c.hdf5 --json -q" + given).out);
    EXPECT_EQ(right.at("likeliest_mistake"), "");
    // The noise of 44 x 44 positions in 400 frames scatters by 1 / sqrt(2 n), and by the kurtosis of ten photons.
    const double error = right.at("noise_check_error");
    EXPECT_NEAR(right.at("noise_check").get<double>(), 1, 5 * error);
    EXPECT_LT(error, 0.005);
    EXPECT_NE(glint("localize m.tif -o d.hdf5 -q" + given).out.find(" +- 0.00"), std::string::npos);
}
