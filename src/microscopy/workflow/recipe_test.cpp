// Recipes: written recipes can be read again, and errors name their position.
// SPDX-License-Identifier: MIT
#include "workflow/recipe.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/spelling.hpp"
#include "glint/error.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "workflow/check_recipe.hpp"

using namespace glint;
using namespace glint;
using namespace glint::test;

namespace {

std::vector<std::string> values(Recipe recipe) {
    std::vector<std::string> all;
    for (const RecipeKey& key : keys_of(recipe)) all.push_back(toml_value(key));
    return all;
}

class Recipes : public ::testing::Test {
  protected:
    Recipe read(const std::string& text) {
        folder_.write("r.toml", text);
        return read_recipe(folder_ / "r.toml");
    }
    std::string error_of(const std::string& text) {
        try {
            read(text);
        } catch (const InputError& error) {
            return error.what();
        }
        return "no error";
    }
    TemporaryFolder folder_;
};

TEST_F(Recipes, what_is_written_is_read_again) {
    EXPECT_EQ(values(read(recipe_text(Recipe()))), values(Recipe()));
    Recipe recipe;
    recipe.movie.channel = "say \"cheese\"\\\n";
    recipe.movie.z = 3;
    recipe.camera.offset = std::nan(""), recipe.camera.gain = 1.0 / 3, recipe.camera.camera_file = "/a b/camera.toml";
    recipe.psf.sigma = "130nm", recipe.psf.numbers = {"ratio=1.5", "b=2"};
    recipe.localize.roi_size = 9, recipe.localize.emitters = "1";
    recipe.filter = {"p_value > 1e-3", "lpx_nm < 20"}, recipe.filter_molecules = {"n >= 2"};
    recipe.link.on = false, recipe.link.gap = 2, recipe.render.picture_pixel = "5nm", recipe.figures = {};
    EXPECT_EQ(values(read(recipe_text(recipe))), values(recipe));
}

TEST_F(Recipes, the_default_tolerance_is_that_of_the_fit) {
    EXPECT_EQ(float(Recipe().localize.tolerance), FitOptions().tolerance);
}

TEST_F(Recipes, unknown_keys_are_reported_with_line_and_nearest_name) {
    const std::string key = error_of("[localize]\nroi_size = 7\ntreshold = 5\n");
    EXPECT_NE(key.find("r.toml:3:1"), key.npos) << key;
    EXPECT_NE(key.find("did you mean threshold?"), key.npos) << key;
    const std::string section = error_of("[lokalize]\nroi_size = 7\n");
    EXPECT_NE(section.find("r.toml:1:"), section.npos) << section;
    EXPECT_NE(section.find("did you mean localize?"), section.npos) << section;
}

TEST_F(Recipes, wrong_values_are_reported_with_their_line) {
    for (const char* text :
         {"[localize]\nroi_size = 2.5", "[localize]\nroi_size = 99", "[link]\non = \"yes\"", "[psf]\nsigma = 130",
          "[psf]\nsigma = \"130\"", "[camera]\npixel_size = \"2px\"", "[localize]\nemitters = \"2\"",
          "[camera]\ngain = \"automatic\"", "[filter]\nwhere = \"n > 2\"", "[filter]\nwhere = [\"n >\"]",
          "[figures]\nformats = [\"bmp\"]", "[render]\npicture_pixel = \"10\"", "[render]\ncolormap = \"jet\"",
          "[localize]\npsf_misfit = \"auto\""})
        EXPECT_NE(error_of(text).find("r.toml:2:"), std::string::npos) << text << ": " << error_of(text);
    EXPECT_NE(error_of("render = 3").find("r.toml:1:"), std::string::npos) << error_of("render = 3");
}

TEST_F(Recipes, the_command_line_wins_and_that_is_reported) {
    Recipe recipe, flags;
    recipe.psf.sigma = "120nm", recipe.camera.gain = 0.5, recipe.filter = {"n > 2"};
    flags.psf.sigma = "130nm", flags.camera.gain = 0.5;
    std::vector<std::string> changed;
    const Recipe both = with_given(recipe, flags, changed);
    EXPECT_EQ(both.psf.sigma, "130nm");
    EXPECT_EQ(both.filter, recipe.filter);
    EXPECT_EQ(changed, std::vector<std::string>{"psf.sigma"});
}

TEST_F(Recipes, values_that_the_command_line_leaves_out_are_reported) {
    Recipe recipe, flags;
    recipe.camera.gain = 0.5, recipe.camera.offset = 100, recipe.psf.sigma = "130nm", recipe.drift.on = false;
    flags.camera.offset = 99, flags.psf.sigma = "130nm";
    EXPECT_EQ(values_beside(recipe, flags), (std::vector<std::string>{"camera.gain = 0.5", "drift.on = false"}));
    EXPECT_TRUE(values_beside(Recipe(), flags).empty());
}

TEST_F(Recipes, words_of_other_commands_are_those_of_a_recipe_or_name_their_command) {
    EXPECT_EQ(cli::in_words_of_run("give larger tiles, as in `tile=5um`"),
              "give larger tiles, as in glint resolution --tile 5um");
    EXPECT_EQ(cli::in_words_of_run("give `roi_size=7`"), "give roi_size = 7 of [localize] in the recipe");
    EXPECT_EQ(cli::in_words_of_run("`sigma` 130: give a unit, as in `sigma=130nm`"),
              "[psf] sigma of the recipe (--sigma) 130: give a unit, as in --sigma 130nm");
    EXPECT_EQ(cli::in_words_of_run("go on with `resume`: as in `zoom=10`"),
              "go on with the same command: as in picture_pixel of [render] in the recipe");
}

TEST_F(Recipes, files_are_looked_for_beside_the_recipe) {
    EXPECT_EQ(read("[camera]\nfile = \"camera.toml\"").camera.camera_file, (folder_ / "camera.toml").string());
    EXPECT_EQ(read("[psf]\ncalibration = \"/there/cal.toml\"").psf.calibration, "/there/cal.toml");
}

TEST_F(Recipes, a_region_is_refused_since_no_recipe_has_it) {
    RunOptions options;
    options.movies = {folder_.write("m.tif", "").string()}, options.out = folder_ / "out";
    options.given.camera.region = "0,0,8,8";
    expect_error<OptionError>([&] { run(options); }, {"region", "no key of a recipe"});
    options.given.camera.region.clear();
    options.recipe.emplace().camera.region = "0,0,8,8";
    expect_error<OptionError>([&] { run(options); }, {"region", "no key of a recipe"});
}

}  // namespace
