// Runs all steps from movies to finished pictures in one call, by a recipe, and resumes after a stop (run.md).
//
//     glint::RunOptions options;
//     options.movies = {"cell1.tif", "cell2.tif"};
//     options.out = "results";
//     options.given.camera.pixel_size = "100nm";
//     options.given.camera.offset = 100, options.given.camera.gain = 0.5;
//     options.given.psf.sigma = "130nm";
//     for (const glint::MovieRun& movie : glint::run(options))
//         std::printf("%s: %s\n", movie.folder.c_str(), movie.error.empty() ? "done" : movie.error.c_str());
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glint/fit.hpp"
#include "glint/movie_choice.hpp"
#include "glint/progress.hpp"
#include "glint/psf.hpp"

namespace glint {

/// A value of CameraSetup and PsfSetup: estimate the offset, the gain or the PSF's width from the movie.
inline constexpr std::string_view word_auto = "auto";

/// The camera as a user describes it. Missing values come from `camera_file` or `preset`, else from the movie's
/// metadata.
struct CameraSetup {
    std::string pixel_size;  ///< edge of a pixel in the sample, with its unit: "100nm"; empty: not given
    /// ADU, e-/ADU, e- rms, factor. NaN for offset or gain: word_auto.
    std::optional<double> offset, gain, readnoise, em_gain;
    std::string offset_source, gain_source;    ///< "estimated"; empty: given by the user
    std::string camera_file, preset;           ///< give at most one of the two
    std::string sensor_roi;                    ///< "X,Y": sensor pixel of the movie's first pixel
    std::string region;                        ///< part of the frames to use as the movie: "X,Y,W,H", px
    std::string gain_unit;                     ///< unit of `gain`, and of maps without a unit: "e-/ADU" or "ADU/e-"
    std::string camera_name;                   ///< in Picasso's config.yaml
    std::vector<std::string> camera_settings;  ///< of that camera
};

/// The PSF as a user describes it.
struct PsfSetup {
    /// A model's name or the file of a measured PSF. Empty: GaussianXYNB, or AstigmaticXYZNB with a calibration.
    /// word_auto: a measured PSF without z, from the movie's lone spots.
    std::string model;
    std::string sigma;                    ///< standard deviation, with its unit: "130nm", "1.3px"; or word_auto
    std::string calibration;              ///< file of `glint calibrate astigmatism`
    std::vector<std::string> numbers;     ///< model-specific numbers: NAME=VALUE
    std::optional<std::int64_t> channel;  ///< which PSF of a measured PSF's file with several, from 1
    std::shared_ptr<const PsfTable> estimated = {};  ///< from the movie, for word_auto
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

/// Returns a recipe from a TOML file. Names of other files are relative to the recipe's folder. Throws InputError if
/// the file cannot be read, a key is unknown or a value invalid. The message contains file, line, column and similar
/// keys.
Recipe read_recipe(const std::filesystem::path& path);
/// Returns a recipe from a text. `name` stands for the file in messages, and other files are relative to the current
/// folder. `keys`, if not null, receives the keys of the text, as "camera.gain". Throws as read_recipe().
Recipe parse_recipe(std::string_view text, const std::string& name, std::vector<std::string>* keys = nullptr);
/// Returns the recipe as TOML: all keys with comments. Unset keys are commented out.
std::string recipe_text(const Recipe& recipe);

struct MovieRun;

/// Callbacks of a run. Each may be empty. They are called by one thread at a time.
struct RunMessages {
    std::function<void(const std::string&)> notice;  ///< "movie: drift took 1.2 s"
    Warn warn;                                       ///< problems that may make a result wrong; also in the results
    /// Called when a part of a step begins. Returns the callback for its progress. `unit`: what is counted, "frames".
    std::function<Progress(const std::string& title, const std::string& unit)> progress;
    std::function<void()> end_progress;          ///< called when the part has ended
    std::function<void(const FitInfo&)> fitted;  ///< called when a movie was localized: on which hardware, and why
    std::function<void(const MovieRun&)> done;   ///< called when a movie has its results, or failed
};

/// Options of run(). Callbacks::progress receives the finished and all movies.
struct RunOptions : Placement, Callbacks {
    /// Movies, or tables (.csv) with the columns movie and condition.
    std::vector<std::string> movies;
    std::filesystem::path out;     ///< folder of the results; created with a folder for each movie
    bool concat = false;           ///< the movies are one movie in several files
    std::optional<Recipe> recipe;  ///< unset: recipe.toml in `out`, if it exists
    std::string recipe_name;       ///< for messages: the recipe's file
    /// Values that replace those of the recipe, if they differ from the defaults or are listed in `given_keys`.
    Recipe given;
    std::vector<std::string> given_keys;  ///< keys of `given` to use even if they have the default: "camera.gain"
    RunMessages messages;
    /// For messages: returns what a user types for an option, given the recipe's key. Empty: messages contain the keys.
    std::function<std::string(const std::string&)> words;
    /// For messages about missing values: the user's command, to which the first movie is appended. Empty: no command.
    std::string command;
};

/// The result of run() for one movie.
struct MovieRun {
    enum class Status { complete, failed, stopped };
    std::vector<std::string> movies;  ///< its files
    std::filesystem::path folder;     ///< of its results
    Status status = Status::stopped;  ///< `stopped` includes movies that were not begun
    std::string error;                ///< the message if it failed, else empty
    std::exception_ptr thrown;        ///< the exception if it failed, else null
    /// Files, folder, status, the columns of summary.csv, warnings and the error, as a JSON object.
    std::string json;
};

/// Processes each movie: localizes, filters, corrects drift, measures, links and draws. Writes the results into a
/// folder of `out` with the movie's name, and recipe.toml and summary.csv beside these folders.
///
/// Does not repeat a step if its recipe, input and files are unchanged: call it again after a stop, a failure or a
/// change of the recipe.
///
/// Returns one element per movie. If a movie fails, the other movies continue (MovieRun::status). Throws, before any
/// work,
/// - OptionError for missing or invalid options, or movies that would share a folder
/// - InputError if the recipe or a table of movies cannot be read
/// - OutputError if `out` cannot be written
std::vector<MovieRun> run(const RunOptions& options);

}  // namespace glint
