// Runs all steps from movies to finished pictures in one call, by a recipe, and resumes after a stop (run.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glint/fit.hpp"
#include "glint/movie_choice.hpp"
#include "glint/progress.hpp"

namespace glint {

/// Instead of the offset, the gain or the PSF's width: estimates it from the movie.
inline constexpr std::string_view word_auto = "auto";

/// The camera as a user describes it. Missing values come from `camera_file` or `preset`, else from the movie's
/// metadata.
struct CameraSetup {
    std::string pixel_size;  ///< edge of a pixel in the sample, with its unit: "100nm"; empty: not given
    std::optional<double> offset, gain, readnoise,
        em_gain;                             ///< ADU, e-/ADU, e- rms, factor; of the first two NaN: word_auto
    std::string offset_source, gain_source;  ///< where not the user: "estimated"
    std::string camera_file, preset;         ///< one of them at most
    std::string sensor_roi;                  ///< "X,Y": sensor pixel of the movie's first pixel
    std::string region;                      ///< of whole frames, that the movie is: "X,Y,W,H", px
    std::string gain_unit;    ///< unit of `gain`, and of a map that does not say its own: "e-/ADU" or "ADU/e-"
    std::string camera_name;  ///< in Picasso's config.yaml
    std::vector<std::string> camera_settings;  ///< of that camera
};

/// The PSF as a user describes it.
struct PsfSetup {
    std::string model;                 ///< empty: GaussianXYNB, or AstigmaticXYZNB with a calibration
    std::string sigma;                 ///< standard deviation, with its unit: "130nm", "1.3px"; or word_auto
    std::string calibration;           ///< file of `glint calibrate astigmatism`
    std::vector<std::string> numbers;  ///< NAME=VALUE, of the model's own
};

/// Everything that the results of run() depend on, except the movies: the sections and keys of recipe.toml. Each
/// step chooses its unset values.
struct Recipe {
    struct Localize {
        std::string emitters = "auto";
        std::optional<std::int64_t> roi_size;
        std::optional<double> threshold, psf_misfit;
        std::int64_t neighbor_rounds = 3, max_iterations = FitSettings{}.max_iterations;
        double tolerance = 0.01;  ///< FitSettings have it as float
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
    std::string frames;  ///< "BEGIN:END"
    CameraSetup camera;
    PsfSetup psf;
    Localize localize;
    std::vector<std::string> filter;  ///< conditions, as of glint/filter.hpp
    Drift drift;
    Link link;
    std::vector<std::string> filter_molecules;
    bool resolution = true;
    Render render;
    std::vector<std::string> figures = {"png", "svg"};
};

/// Reads a recipe from TOML. Names of other files are relative to the recipe's folder. Throws InputError with file,
/// line and column, and for unknown keys with the nearest name.
Recipe read_recipe(const std::filesystem::path& path);
/// Parses a recipe. `name` stands for the file in messages, and other files are relative to the current folder.
/// `keys` receives the keys that the text has, as "camera.gain".
Recipe parse_recipe(std::string_view text, const std::string& name, std::vector<std::string>* keys = nullptr);
/// All keys with comments; those that are unset are commented out.
std::string recipe_text(const Recipe& recipe);

struct MovieRun;

/// Callbacks of a run. Each may be empty. They are called by one thread at a time.
struct RunMessages {
    std::function<void(const std::string&)> notice;  ///< "movie: drift took 1.2 s"
    Warn warn;                                       ///< what may make a result wrong; also among the results
    /// Called when a part of a step begins. Returns the callback for its progress. `unit`: what is counted, "frames".
    std::function<Progress(const std::string& title, const std::string& unit)> progress;
    std::function<void()> end_progress;          ///< the part has ended
    std::function<void(const FitInfo&)> fitted;  ///< a movie was localized: where, and why there
    std::function<void(const MovieRun&)> done;   ///< a movie has its results, or failed
};

/// Callbacks::progress: movies done, and in all.
struct RunOptions : Placement, Callbacks {
    /// Movies, or tables (.csv) with the columns movie and condition.
    std::vector<std::string> movies;
    std::filesystem::path out;            ///< folder of the results; it and those of movies are made
    bool concat = false;                  ///< the movies are one movie in several files
    std::optional<Recipe> recipe;         ///< unset: recipe.toml in `out`, if it exists
    std::string recipe_name;              ///< for messages: the recipe's file
    Recipe given;                         ///< values that replace those of the recipe: those that are not the defaults
    std::vector<std::string> given_keys;  ///< and those of these keys: "camera.gain"
    RunMessages messages;
    /// Completes messages: what a user would type for an option that they name. Empty: names of the recipe's keys.
    std::function<std::string(const std::string&)> words;
    /// The command that this is, for messages about values that are missing: the first movie's follows. Empty: none.
    std::string command;
};

/// What became of one movie.
struct MovieRun {
    enum class Status { complete, failed, stopped };
    std::vector<std::string> movies;  ///< its files
    std::filesystem::path folder;     ///< of its results
    Status status = Status::stopped;  ///< also of movies whose turn did not come
    std::string error;                ///< why it failed
    std::exception_ptr thrown;        ///< the same, to be thrown again
    /// Files, folder, status, the columns of summary.csv, warnings and the error, as a JSON object.
    std::string json;
};

/// Localizes each movie, filters, corrects drift, measures, links and draws, and writes all of it into a folder of
/// `out` named like the movie, with recipe.toml and summary.csv beside it.
///
/// A step is not repeated if its recipe, input and files are unchanged: the same call continues after a stop, a
/// failure or a change of the recipe. If a movie fails, the other movies continue: see MovieRun::status.
///
/// Throws OptionError before any work for missing or wrong options, or movies that would share a folder. Throws
/// OutputError if nothing can be written.
std::vector<MovieRun> run(const RunOptions& options);

}  // namespace glint
