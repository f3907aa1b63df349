// Tests the reports on a run: summaries, JSON, warnings, previews.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "glint/localization_io.hpp"
#include "glint/movie_io.hpp"
#include "gpu/doctor/doctor.hpp"
#include "tests/command_line.hpp"

using namespace glint;
using namespace glint::test;

TEST_F(CommandLine, no_localizations_are_explained) {
    make_movie("m.tif");
    const Ended done = glint("localize m.tif -o o.hdf5 -q --threshold 900" + given);
    EXPECT_EQ(done.exit_code, 0);
    EXPECT_NE(done.err.find("no localizations: no spot reached the detection threshold"), done.err.npos) << done.err;
}

TEST_F(CommandLine, beads_are_told_where_no_drift_is_found) {
    Localizations bead;
    for (int f = 0; f < 500; ++f) {
        bead.frame.push_back(std::uint32_t(f));
        for (auto* column : {&bead.x_px, &bead.y_px}) column->push_back(20);
        for (auto* column : {&bead.lpx_px, &bead.lpy_px}) column->push_back(0.02f);
        for (auto* column : {&bead.photons, &bead.sx_px, &bead.sy_px, &bead.bg}) column->push_back(1);
    }
    bead.pixel_size_nm = 100, bead.width = bead.height = 40, bead.frames = 500;
    write_localizations(folder_ / "l.hdf5", bead);
    const Ended done = glint("drift l.hdf5 -o o.hdf5");
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_NE(done.out.find("not corrected"), done.out.npos) << done.out;
    EXPECT_NE(done.out.find("0 used of 1\n"), done.out.npos) << done.out;
    EXPECT_NE(done.out.find("x 20.0, y 20.0 px: left out"), done.out.npos) << done.out;
}

TEST_F(CommandLine, json_says_what_a_table_was_made_with) {
    make_movie("m.tif");
    const Ended done = glint("localize m.tif -o o.hdf5 -q --json --readnoise 1.5 --em-gain 2" + given);
    const auto json = nlohmann::json::parse(done.out);
    EXPECT_EQ(json.at("threshold"), 6) << "an EMCCD's, not 0";
    EXPECT_EQ(json.at("camera").at("gain_e_per_adu"), 1);
    EXPECT_EQ(json.at("camera").at("offset_adu"), 100);
    EXPECT_EQ(json.at("camera").at("em_gain"), 2);
    EXPECT_EQ(json.at("camera").at("readnoise_e"), 1.5);
    EXPECT_EQ(json.at("psf_values").at("sigma_nm"), 130);
}

TEST_F(CommandLine, results_go_to_stdout_and_talk_to_stderr) {
    make_movie("m.tif");
    const Ended talking = glint("localize m.tif -o a.hdf5 --json" + given);
    EXPECT_EQ(talking.exit_code, 0);
    EXPECT_NO_THROW(nlohmann::json::parse(talking.out));
    EXPECT_NE(talking.err.find("(given)"), std::string::npos) << "where each value came from";
    EXPECT_EQ(glint("localize m.tif -o b.hdf5 --json -q" + given).err.find("frames/s"), std::string::npos);
}

TEST_F(CommandLine, fit_finds_several_molecules_in_a_roi) {
    const Psf psf{.sigma_nm = 130};
    std::array<std::vector<float>, max_parameters> truth;
    Rois rois = simulate_rois({.size = 13, .count = 60, .photons_min = 2000, .spread_px = 0.5}, psf, 100, {}, truth);
    MovieInfo info;
    info.width = info.height = 13, info.frames = 30, info.type = PixelType::uint16;
    TiffMovieWriter writer(folder_ / "rois.tif", info);
    FrameBlock block;
    block.count = 30, block.width = block.height = 13, block.type = PixelType::uint16;
    for (std::size_t roi = 0; roi < 30; ++roi)  // adds the other 30 spots to the same ROIs, 4 px to the right
        for (std::size_t p = 0; p < 169; ++p) {
            const float right = p % 13 < 4 ? 10 : rois.pixels[(roi + 30) * 169 + p - 4];
            const auto count = std::uint16_t(100 + rois.pixels[roi * 169 + p] + right);
            block.bytes.push_back(std::byte(count & 255)), block.bytes.push_back(std::byte(count >> 8));
        }
    writer.append(block);
    writer.close();
    const Ended end = glint("fit rois.tif -o f.hdf5 --emitters auto --psf-misfit 0 --json -q" + given);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    const auto result = nlohmann::json::parse(end.out);
    const Localizations rows = read_localizations(folder_ / "f.hdf5");
    EXPECT_EQ(result["rois"], 30);
    EXPECT_EQ(result["localizations"], rows.size());
    EXPECT_EQ(result["molecules"], rows.size() + result["not_converged"].get<std::size_t>());
    EXPECT_GE(std::count(rows.emitters.begin(), rows.emitters.end(), 2.0f), 58);
    EXPECT_EQ(rows.frame.back(), 29u);
    expect_fails("fit rois.tif -o g.hdf5 --emitters 65" + given, 2, "--emitters 65: give 1 to 64, or auto");
    expect_fails("fit rois.tif -o g.hdf5 --max-iterations 0" + given, 2, "at most 0 iterations (--max-iterations)");
    expect_fails("fit rois.tif -o g.hdf5 --tolerance 7" + given, 2, "a tolerance of 7 (--tolerance)");
    expect_fails("fit rois.tif -o g.hdf5 --emitters two" + given, 2, "--emitters two");
    expect_fails("fit rois.tif -o g.hdf5 --emitters 2 --backend gpu" + given, 2, "CPU only");
}

// Writes a 32-bit movie or stack with these pixels.
static void write_floats(const std::filesystem::path& path, int edge, const std::vector<float>& pixels) {
    MovieInfo info;
    info.width = info.height = edge, info.type = PixelType::float32;
    info.frames = std::int64_t(pixels.size()) / (edge * edge);
    FrameBlock block;
    block.count = int(info.frames), block.width = block.height = edge, block.type = info.type;
    const auto bytes = std::as_bytes(std::span(pixels));
    block.bytes.assign(bytes.begin(), bytes.end());
    TiffMovieWriter writer(path, info);
    writer.append(block);
    writer.close();
}

TEST_F(CommandLine, rois_and_movies_without_values_are_told_so) {
    std::vector<float> pixels(3 * 81, 120);
    pixels[5] = std::nanf(""), pixels[2 * 81] = 1e30f;
    write_floats(folder_ / "rois.tif", 9, pixels);
    const Ended fitted = glint("fit rois.tif -o f.hdf5 --json" + given);
    ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
    EXPECT_NE(fitted.err.find("rois.tif: 2 of 3 ROIs have pixels that are not a number"), std::string::npos)
        << fitted.err;
    EXPECT_EQ(nlohmann::json::parse(fitted.out)["bad_input"], 2);
    write_floats(folder_ / "nan.tif", 24, std::vector<float>(2 * 24 * 24, std::nanf("")));
    const Ended none = glint("localize nan.tif -o l.hdf5" + given);
    EXPECT_EQ(none.exit_code, 0);
    EXPECT_NE(none.out.find("missing pixels     1,152"), std::string::npos) << none.out;
    EXPECT_NE(none.err.find("nan.tif: no localizations: all pixels of the 2 frames are missing"), std::string::npos)
        << none.err;
    EXPECT_EQ(none.err.find("check the offset"), std::string::npos) << none.err;
}

TEST_F(CommandLine, a_truncated_movie_is_told_once_by_a_run) {
    make_movie("m.tif", 10);
    std::filesystem::resize_file(folder_ / "m.tif", 1024 + 5 * 48 * 48 * 2);
    const Ended done = glint("run m.tif -o r --json" + given);
    ASSERT_EQ(done.exit_code, 0) << done.err;
    std::size_t told = 0;
    for (std::size_t at = 0; (at = done.err.find("usable", at)) != std::string::npos; ++at) ++told;
    EXPECT_EQ(told, 1u) << done.err;
}

TEST_F(CommandLine, failed_rows_are_told_in_every_format) {
    make_movie("m.tif", 40, 32);
    std::vector<std::uint8_t> status;
    for (const std::string name : {"o.hdf5", "o.csv", "o.smlm.h5"}) {
        const Ended end =
            glint("localize m.tif --keep-failed --emitters 1 --max-iterations 3 --json -q -o " + name + given);
        ASSERT_EQ(end.exit_code, 0) << end.err;
        const Localizations rows = read_localizations(folder_ / name, {}, 100);
        if (status.empty()) status = rows.status;
        EXPECT_EQ(rows.status, status) << name;
        EXPECT_EQ(nlohmann::json::parse(end.out)["not_converged"],
                  std::count_if(status.begin(), status.end(), [](std::uint8_t one) { return one != 0; }));
    }
    EXPECT_NE(std::count(status.begin(), status.end(), std::uint8_t(FitStatus::iteration_limit)), 0);
}

TEST_F(CommandLine, rows_beyond_the_edge_are_told) {
    MovieInfo info;
    info.width = info.height = 9, info.frames = 3, info.type = PixelType::uint16;
    TiffMovieWriter writer(folder_ / "rois.tif", info);
    FrameBlock block;
    block.count = 3, block.width = block.height = 9, block.type = PixelType::uint16;
    for (int p = 0; p < 3 * 81; ++p) {  // molecules at x = -0.5
        const double x = p % 9 + 0.5, y = p / 9 % 9 - 4;
        const auto count = std::uint16_t(110 + 300 * std::exp(-(x * x + y * y) / (2 * 1.3 * 1.3)));
        block.bytes.push_back(std::byte(count & 255)), block.bytes.push_back(std::byte(count >> 8));
    }
    writer.append(block);
    writer.close();
    const Ended end = glint("fit rois.tif -o f.hdf5" + given);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_NE(end.out.find("beyond the edge  3 rows have x or y below 0"), std::string::npos) << end.out;
    EXPECT_NE(end.out.find("contains them, but Picasso leaves them out"), std::string::npos) << end.out;
}

TEST_F(CommandLine, a_machine_without_a_gpu_is_no_news) {
    if (gpu::doctor::machine_has_gpu()) GTEST_SKIP() << "this one has a GPU";
    make_movie("m.tif", 10);
    EXPECT_EQ(glint("localize m.tif -o o.hdf5" + given).err.find("GPU"), std::string::npos);
    EXPECT_NE(glint("localize m.tif -o p.hdf5 --explain" + given).err.find("GPU"), std::string::npos);
    for (const std::string asked : {" --always-gpu", " --gpu-worker auto"})
        EXPECT_NE(glint("localize m.tif -o q.hdf5 --overwrite" + given + asked).err.find("fitted on the CPU: "),
                  std::string::npos)
            << asked;
}

TEST_F(CommandLine, explain_tells_the_time_by_a_sample) {
    make_movie("m.tif", 20);
    const auto explained = [&](const std::string& flags) {
        return glint("localize m.tif -o o.hdf5 --overwrite --explain" + given + flags).err;
    };
    for (const char* flags : {"", " --emitters 1"}) {
        const std::string words = explained(flags);
        EXPECT_NE(words.find("frames of this movie the CPU takes about "), std::string::npos) << words;
    }
}

TEST_F(CommandLine, preview_marks_molecules_that_joint_fits_find) {
    make_movie("m.tif", 2);
    ASSERT_EQ(glint("localize m.tif -o spots.png --preview 1 --emitters 1" + given).exit_code, 0);
    const Ended end = glint("localize m.tif -o all.png --preview 1 --json" + given);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    const auto result = nlohmann::json::parse(end.out);
    EXPECT_GE(result["molecules"], result["spots"]);
    EXPECT_LE(result["fitted_together"], result["molecules"]);
    EXPECT_NE(read_bytes(folder_ / "all.png"), read_bytes(folder_ / "spots.png"));
}

TEST_F(CommandLine, preview_shows_what_the_run_writes_for_that_frame) {
    make_movie("m.tif", 60);
    for (const std::string flags : {"", " --emitters 1", " --keep-failed --psf-misfit 0"}) {
        const Ended run = glint("localize m.tif -o o.hdf5 --overwrite --json" + given + flags);
        const Ended shown = glint("localize m.tif -o p.png --overwrite --preview 7 --json" + given + flags);
        ASSERT_EQ(shown.exit_code, 0) << shown.err;
        const auto of_run = nlohmann::json::parse(run.out), of_frame = nlohmann::json::parse(shown.out);
        EXPECT_EQ(of_frame["psf_misfit"], of_run["psf_misfit"]) << "learnt from the whole movie";
        const Localizations rows = read_localizations(folder_ / "o.hdf5");
        EXPECT_EQ(of_frame["localizations"], std::count(rows.frame.begin(), rows.frame.end(), 7u));
    }
    const Ended words = glint("localize m.tif -o p.png --overwrite --preview 7" + given);
    for (const char* word : {"noise check", "PSF misfit", "from ", "circle: spot found", "left out"})
        EXPECT_NE(words.out.find(word), std::string::npos) << word << "\n" << words.out;
}

TEST_F(CommandLine, preview_is_of_the_first_movie_and_of_the_frames_asked_for) {
    make_movie("m.tif", 60);
    make_movie("n.tif", 40, 64);  // of another size: cannot be joined with the first movie
    const auto one = nlohmann::json::parse(glint("localize m.tif -o p.png --preview 7 --json" + given).out);
    const Ended several = glint("localize m.tif n.tif -o q.png --preview 7 --json" + given);
    ASSERT_EQ(several.exit_code, 0) << several.err;
    auto of_first = nlohmann::json::parse(several.out);
    EXPECT_NE(several.err.find("--preview shows m.tif, the first of 2 movies"), several.err.npos) << several.err;
    of_first["output"] = one["output"];
    EXPECT_EQ(of_first, one) << "with what the first alone teaches";
    expect_fails("localize m.tif n.tif -o r.png --preview 60" + given, 2, "--preview 60: m.tif has frames 0 to 59");
    expect_fails("localize m.tif -o r.png --preview 7 --frames 10:20" + given, 2,
                 "--preview 7: --frames 10:20 selects the frames 10 to 19 of m.tif");
    EXPECT_EQ(glint("localize m.tif -o r.png --preview 10 --frames 10:20 -q" + given).exit_code, 0);
}

/// Returns the number in the line of the summary that begins with this text; -1 if there is none.
static long count_in(const std::string& summary, const std::string& line) {
    const std::size_t at = ('\n' + summary).find('\n' + line + "  ");
    return at == std::string::npos ? -1 : std::stol(summary.substr(summary.find_first_not_of(' ', at + line.size())));
}

TEST_F(CommandLine, a_movie_without_spots_has_a_sensible_summary_and_score) {
    make_movie("m.tif", 4);
    const Ended end = glint("localize m.tif -o o.hdf5 --threshold 900" + given);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_EQ(count_in(end.out, "spots"), 0) << end.out;
    EXPECT_EQ(count_in(end.out, "molecules fitted"), 0) << end.out;
    EXPECT_EQ(end.out.find("one at each spot"), end.out.npos) << end.out;
    EXPECT_EQ(end.out.find(", \n"), end.out.npos) << end.out;
    const Ended scored = glint("score o.hdf5 o.hdf5");
    ASSERT_EQ(scored.exit_code, 0) << scored.err;
    for (const std::string figure : {"recall", "precision", "jaccard"})
        EXPECT_NE(scored.out.find(fmt::format("{:<18}-\n", figure)), scored.out.npos) << scored.out;
    EXPECT_EQ(nlohmann::json::parse(glint("score o.hdf5 o.hdf5 --json").out)["recall"], nullptr);
}

// An offset above the background once gave values such as 22241806.00.
TEST_F(CommandLine, noise_check_of_a_background_below_0_says_what_to_do) {
    make_movie("m.tif");
    const Ended end =
        glint("localize m.tif -o o.hdf5 --pixel-size 100nm --offset 150 --gain 1 --sigma 130nm --emitters 1");
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_NE(end.out.find("over 10 (1 if the camera's values are right): see the warning"), end.out.npos) << end.out;
    EXPECT_NE(end.err.find("the offset of 150 ADU is too high: the movie's median count is 1"), end.err.npos)
        << end.err;
}

TEST_F(CommandLine, the_summary_adds_up) {
    make_movie("m.tif", 40, 32);  // crowded
    for (const std::string flags : {"", " --emitters 1"}) {
        const Ended end = glint("localize m.tif -o o.hdf5 --overwrite" + given + flags);
        ASSERT_EQ(end.exit_code, 0) << end.err;
        const long duplicates = count_in(end.out, "  duplicates");
        EXPECT_EQ(duplicates < 0, flags.empty()) << end.out;
        EXPECT_EQ(count_in(end.out, "localizations"),
                  count_in(end.out, "molecules fitted") - count_in(end.out, "  not converged") -
                      count_in(end.out, "  left their spot") - std::max(duplicates, 0l))
            << end.out;
        const auto json =
            nlohmann::json::parse(glint("localize m.tif -o o.hdf5 --overwrite --json" + given + flags).out);
        EXPECT_EQ(json["molecules"],
                  json["spots"].get<long>() + json["added"].get<long>() - json["merged"].get<long>());
        EXPECT_EQ(json["molecules"], count_in(end.out, "molecules fitted"));
        EXPECT_EQ(json["added"] > 0, flags.empty()) << "joint fits find more";
    }
}

TEST_F(CommandLine, score_refuses_tables_of_two_pixel_sizes) {
    make_movie("m.tif");
    for (const std::string nm : {"100", "130"})
        ASSERT_EQ(
            glint("localize m.tif -q --offset 100 --gain 1 --sigma 1.3px -o " + nm + ".hdf5 --pixel-size " + nm + "nm")
                .exit_code,
            0);
    expect_fails("score 100.hdf5 130.hdf5", 2, "100.hdf5 has pixels of 100 nm and 130.hdf5 of 130 nm");
    expect_fails("score 100.hdf5 130.hdf5 --pixel-size 100nm", 2, "130.hdf5 of 130 nm");
    // The remedies that the message names: Pixelsize in the .yaml, or the truth in nm.
    const std::string recall = glint("score 100.hdf5 100.hdf5 --json").out;
    ASSERT_EQ(run(folder_, "sed -i 's/^Pixelsize: 130/Pixelsize: 100/' 130.yaml").exit_code, 0);
    EXPECT_EQ(glint("score 100.hdf5 130.hdf5 --json").out, recall);
    ASSERT_EQ(glint("convert 100.hdf5 -o truth.csv -q").exit_code, 0);
    EXPECT_EQ(nlohmann::json::parse(glint("score 100.hdf5 truth.csv --json").out)["recall"], 1);
}

TEST_F(CommandLine, linked_tables_are_known_in_any_format) {
    make_movie("m.tif", 40);
    ASSERT_EQ(glint("localize m.tif -o l.hdf5 -q" + given).exit_code, 0);
    for (const std::string linked : {"linked.hdf5", "linked.csv"}) {
        const Ended first = glint("link l.hdf5 -o " + linked);
        EXPECT_EQ(first.err.find("linked to one row"), std::string::npos) << first.err;
        const Ended again = glint("link --pixel-size 100nm --overwrite -o again.hdf5 " + linked);
        EXPECT_EQ(again.exit_code, 0) << again.err;
        EXPECT_NE(again.err.find(linked + ": its blinks were linked to one row each already"), std::string::npos)
            << again.err;
        EXPECT_EQ(again.out.find("nan"), std::string::npos) << again.out;
        const Ended measured = glint("resolution --pixel-size 100nm " + linked);
        EXPECT_NE(measured.err.find("blinks were linked to one row each"), std::string::npos) << measured.err;
    }
}

TEST_F(CommandLine, filter_and_render_tell_of_nothing_left) {
    make_movie("m.tif");
    ASSERT_EQ(glint("localize m.tif -o l.hdf5 -q" + given).exit_code, 0);
    const Ended filtered = glint("filter l.hdf5 -o none.hdf5 --where \"photons < 0\"");
    EXPECT_EQ(filtered.exit_code, 0);
    EXPECT_NE(filtered.err.find("none.hdf5: no row fulfils the conditions"), std::string::npos) << filtered.err;
    const Ended drawn = glint("render none.hdf5 -o none.png");
    EXPECT_EQ(drawn.exit_code, 0);
    EXPECT_NE(drawn.err.find("there are no localizations to draw"), std::string::npos) << drawn.err;
    EXPECT_EQ(glint("filter l.hdf5 -o all.hdf5 --where \"photons > 0\"").err, "");
}

// With a gain four times too high, rows state half of their precision. The pictures of `glint run` use the precision of
// NeNA.
TEST_F(CommandLine, run_draws_the_precision_that_is_measured) {
    ASSERT_EQ(glint("simulate -o w.tif --seed 1 --frames 600 --size 64 --sigma 130nm --pixel-size 100nm --offset 100 "
                    "--gain 0.5 --spots 5 --blinks 8 --background 10 -q")
                  .exit_code,
              0);
    const auto results_of = [&](const std::string& gain, const std::string& recipe) {
        const Ended end = glint("run w.tif -o of" + gain + recipe.substr(0, 2) +
                                " --sigma 130nm --pixel-size 100nm --offset 100 --gain " + gain +
                                (recipe.empty() ? "" : " --recipe " + recipe));
        EXPECT_EQ(end.exit_code, 0) << end.err;
        const auto steps = nlohmann::json::parse(
            glint::test::read_bytes(folder_ / ("of" + gain + recipe.substr(0, 2)) / "w" / "run.json"))["steps"];
        const auto measured = steps["resolution"]["results"], drawn = steps["render"]["results"];
        EXPECT_GE(drawn["width"].get<int>(), 1000);
        const double factor = drawn["blur_factor"].get<double>();
        EXPECT_EQ(end.err.find("times as wide as their rows state") != std::string::npos, factor != 1) << end.err;
        return std::pair(factor, measured.contains("nena_of_stated") ? measured["nena_of_stated"].get<double>() : 1.0);
    };
    const auto [factor, measured] = results_of("2", "");
    EXPECT_NEAR(factor, 2, 0.5);
    EXPECT_EQ(factor, measured);
    folder_.write("b.toml", "[render]\nblur = \"20nm\"\n");
    EXPECT_EQ(results_of("2", "b.toml").first, 1) << "one width for all";
}

TEST_F(CommandLine, colours_of_tables_are_given_as_any_value_and_named) {
    for (const char* name : {"a.csv", "b.csv"})
        folder_.write(name, "frame,x [nm],y [nm],uncertainty [nm]\n1,300,400,10\n2,500,600,10\n");
    for (const std::string colors : {" --colors red,blue", " --colors=red,blue"}) {
        const Ended end = glint("render a.csv b.csv -o c.png --overwrite --pixel-size 100nm" + colors);
        ASSERT_EQ(end.exit_code, 0) << end.err;
        EXPECT_NE(end.out.find("red            a.csv\nblue           b.csv\n"), std::string::npos) << end.out;
    }
    EXPECT_NE(glint("render a.csv b.csv -o d.png --pixel-size 100nm").out.find("magenta        a.csv"),
              std::string::npos);
    expect_fails("render a.csv b.csv -o e.png --colors", 2, "--colors needs a value");
    expect_fails("render a.csv b.csv -o e.png --pixel-size 100nm --colors c.csv,d.csv", 2,
                 "no colour c.csv: there are magenta");
    expect_fails("render a.csv -o e.png --blur 10nm --mode histogram", 2, "--blur changes nothing in a histogram");
}

TEST_F(CommandLine, render_tells_what_lies_in_a_region_and_what_colours_mean) {
    make_movie("m.tif");
    ASSERT_EQ(glint("localize m.tif -o l.hdf5 -q" + given).exit_code, 0);
    expect_fails("render l.hdf5 -o p.png --region 100:200um,1:2um", 2, "they lie in 0.");
    EXPECT_FALSE(exists("p.png"));
    const auto json = nlohmann::json::parse(glint("render l.hdf5 -o p.png --region 0:24px,0:48px --json").out);
    EXPECT_GT(json.at("localizations_in_region").get<int>(), 0);
    EXPECT_LT(json.at("localizations_in_region").get<int>(), json.at("localizations").get<int>());
    const Ended drawn = glint("render l.hdf5 -o f.png --color-frame");
    EXPECT_NE(drawn.out.find("frames from 0 to 39\n"), std::string::npos) << drawn.out;
}

TEST_F(CommandLine, numbers_are_written_as_people_do) {
    make_movie("m.tif", 1);
    const Ended inspected = glint("inspect m.tif -q --pixel-size 100nm");
    EXPECT_EQ(inspected.out.find("+- 0 spots"), std::string::npos) << inspected.out;
    ASSERT_EQ(glint("localize m.tif -o l.hdf5 -q" + given).exit_code, 0);
    const Ended linked = glint("link l.hdf5 -o k.hdf5 --radius 30um");
    ASSERT_EQ(linked.exit_code, 0) << linked.err;
    EXPECT_NE(linked.out.find(" 30,000 nm\n"), std::string::npos) << linked.out;
    const Ended done = glint("run m.tif -o r --offset 100 --gain 1 --sigma 130nm --pixel-size 100nm");
    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(done.err.find("were blinks linked"), std::string::npos) << done.err;
    EXPECT_EQ(done.err.find(" 0 rows are"), std::string::npos) << done.err;
    EXPECT_EQ(done.err.find("? left"), std::string::npos) << done.err;
}
