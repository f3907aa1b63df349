// The recipe of `glint run`: everything that its results depend on but the movies, as a TOML file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/flags/camera_flags.hpp"
#include "cli/flags/psf_flags.hpp"
#include "glint/movie_choice.hpp"

namespace glint::cli {

/// What is unset is chosen by the step itself.
struct Recipe {
    struct Localize {
        std::string emitters = "auto";
        std::optional<std::int64_t> roi_size;
        std::optional<double> threshold, psf_misfit;
        std::int64_t neighbor_rounds = 3, max_iterations = FitOptions{}.max_iterations;
        double tolerance = 0.01;  // FitOptions has them as float
    };
    struct Drift {
        bool on = true, beads = true;
    };
    struct Link {
        bool on = true;
        std::optional<double> radius_sigma;
        std::optional<std::int64_t> gap;
    };
    struct Render {
        std::string picture_pixel, blur, colormap;
        bool color_z = false;
        double saturate = 0.5;
    };

    MovieChoice movie;
    std::string frames;
    CameraFlags camera;
    PsfFlags psf;
    Localize localize;
    std::vector<std::string> filter;
    Drift drift;
    Link link;
    std::vector<std::string> filter_molecules;
    bool resolution = true;
    Render render;
    std::vector<std::string> figures = {"png", "svg"};
};

/// A key of the file, and the place of its value. An empty text, or an optional without value, is unset.
struct RecipeKey {
    using Value = std::variant<std::string*, std::optional<std::string>*, std::optional<std::int64_t>*,
                               std::optional<double>*, std::int64_t*, double*, bool*, std::vector<std::string>*>;
    const char* section;
    const char* name;
    Value value;
    const char* comment;
    const char* example = "";  ///< of a value, where it may be unset
    double low = 0, high = 0;  ///< of numbers
};

/// All keys, by section. `recipe` must outlive them.
std::vector<RecipeKey> keys_of(Recipe& recipe);

/// The value in TOML: "0.5", "\"100nm\""; empty: unset.
std::string toml_value(const RecipeKey& key);

/// One section with all values, which a step's results are known by.
std::string section_text(const Recipe& recipe, std::string_view section);

/// Names of other files are taken from the recipe's folder. Throws InputError with file, line and column, for unknown keys with the
/// nearest name.
Recipe read_recipe(const std::filesystem::path& path);

/// All keys with comments; those that are unset are commented out.
std::string recipe_text(const Recipe& recipe);

/// `recipe` with the values that are set in `flags`; `changed` gets the names of keys that had another one.
Recipe with_flags(const Recipe& recipe, const Recipe& flags, std::vector<std::string>& changed);

/// The values of `recipe` that are not the usual ones and not said by `flags`, as "camera.gain = 0.5".
std::vector<std::string> values_beside(const Recipe& recipe, const Recipe& flags);

}  // namespace glint::cli
