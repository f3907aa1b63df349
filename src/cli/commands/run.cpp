// `glint run`: all steps from movies to pictures.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/flags/backend_flags.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/psf_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/print.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/spelling.hpp"
#include "glint/error.hpp"
#include "glint/workflow.hpp"

namespace glint::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* run_footer = R"(
Examples:
  glint run movie.tif -o results --sigma 130nm --pixel-size 100nm --offset 100 --gain 0.5
  glint run day1/*.tif -o results --camera camera.toml --sigma auto
  glint run movie.tif -o results --recipe my_recipe.toml
  glint run movies.csv -o results --camera camera.toml --sigma 130nm

A table such as movies.csv has the columns movie and condition. The names of movies are relative to
the folder of the table. Without a table, the condition of a movie is the name of its folder.

Writes into results:
  recipe.toml     every option of every step
  summary.csv     a row for each movie
  conditions.csv  the means of each condition, if there are several conditions
  MOVIE           a folder for each movie: 1_localized.hdf5, 2_filtered.hdf5, 3_corrected.hdf5,
                  3_drift.txt, 4_linked.hdf5, 5_molecules.hdf5, resolution.json, picture.png,
                  picture.tif, picture_before.png, figures/, and run.json, the record of the run

If interrupted, run the same command again to continue. To change options, edit results/recipe.toml
and run the same command again: glint repeats the steps from the first that changed.)";

struct RunFlags {
    std::vector<std::string> movies;
    std::string out, recipe;
    bool concat = false;
    Recipe given;  ///< values of the command line: movie, camera, psf, frames
    BackendFlags backend;
    int threads = 0;
    ConsoleFlags console;
};

/// Returns the command line, for messages about missing values.
std::string make_example(const RunFlags& flags) {
    std::string text = "glint run";
    for (const std::string& movie : flags.movies) text += " " + shell_file(movie);
    text += " -o " + shell_file(flags.out);
    if (!flags.recipe.empty()) text += " --recipe " + shell_file(flags.recipe);
    if (flags.concat) text += " --concat";
    return text + as_given(flags.given.movie) + as_given(flags.given.psf) + as_given(flags.given.camera);
}

std::string length_text(const Json& json, const char* value, const char* error) {
    if (!json.contains(value) || !json[value].is_number()) return "-";
    const std::string nm = fmt::format("{:.1f}", json[value].get<double>());
    return json.contains(error) && json[error].is_number()
               ? fmt::format("{} +- {:.1f} nm", nm, json[error].get<double>())
               : nm + " nm";
}

void print_movie(const MovieRun& movie) {
    const Json json = Json::parse(movie.json);
    const auto count = [&](const char* name) {
        return json.contains(name) && json[name].is_number() ? with_commas(json[name].get<std::int64_t>())
                                                             : std::string("-");
    };
    Summary summary;
    summary.add("movie", movie.movies.front());
    summary.add("frames", count("frames"));
    summary.add("localizations", fmt::format("{}, {} kept", count("localizations"), count("kept")));
    summary.add("drift", fmt::format("{} RMS, error {} (means of 100 frames, along an axis)",
                                     length_text(json, "drift_rms_nm", ""), length_text(json, "drift_error_nm", "")));
    summary.add("precision",
                fmt::format("NeNA {}; median of the stated precisions: {}",
                            length_text(json, "nena_nm", "nena_error_nm"), length_text(json, "precision_nm", "")));
    summary.add("resolution", fmt::format("FRC {}", length_text(json, "frc_nm", "frc_error_nm")));
    summary.add("molecules", count("molecules"));
    for (const Json& warning : json["warnings"]) summary.add("warning", warning.get<std::string>());
    summary.add("written", movie.folder.string());
    summary.print();
}

int finish(const std::vector<MovieRun>& results, int code, const RunFlags& flags) {
    std::size_t failed = 0;
    std::string list;
    Json all = Json::array();
    for (const MovieRun& result : results) {
        all.push_back(Json::parse(result.json));
        if (result.status != MovieRun::Status::failed) continue;
        ++failed;
        list += line_of_failed(result.movies.front(), result.error);
    }
    if (flags.console.json) print_json(results.size() > 1 ? all : all.front());
    if (failed > 0 && results.size() > 1) tell("glint: {} of {} movies failed:\n{}", failed, results.size(), list);
    if (code == exit_interrupted)
        tell("glint: stopped: run the same command again to continue; finished steps are not repeated\n");
    return code;
}

int run(const RunFlags& flags) {
    const StopFlag& stop = stop_on_signals();
    Console console(flags.console);
    RunOptions options;
    options.movies = flags.movies, options.out = flags.out, options.concat = flags.concat;
    if (!flags.recipe.empty()) options.recipe = read_recipe(flags.recipe), options.recipe_name = flags.recipe;
    options.given = flags.given;
    use_backend(flags.backend, options, options, console);
    options.threads = flags.threads;
    options.stop = &stop;
    options.words = in_words_of_run;
    options.command = make_example(flags);
    int code = exit_ok;
    options.messages = console.messages();
    options.messages.fitted = [&](const FitInfo& info) { tell_backend(flags.backend, info, console); };
    options.messages.done = [&](const MovieRun& movie) {
        if (movie.status == MovieRun::Status::stopped) code = exit_interrupted;
        if (movie.status == MovieRun::Status::failed) {
            console.say("glint: " + movie.error);
            if (code == exit_ok) code = failure_of(movie.thrown).exit_code;
        }
        if (!flags.console.json && movie.status == MovieRun::Status::complete) print_movie(movie);
    };
    const std::vector<MovieRun> results = glint::run(options);
    return finish(results, code, flags);
}

}  // namespace

Command add_run(CLI::App& program) {
    const auto flags = std::make_shared<RunFlags>();
    CLI::App* app = program.add_subcommand("run", "Runs all steps from movies to pictures");
    offer_files(app->add_option("movies", flags->movies,
                                "Movies, at least one, or a table of them with their conditions (.csv)")
                    ->required(),
                offered_movie_endings());
    offer_folders(app->add_option("-o,--output", flags->out, "Folder for the results")->required());
    offer_files(app->add_option("--recipe", flags->recipe,
                                "Options of all steps (default: recipe.toml in the folder of -o, if it exists)"),
                toml_endings);
    app->add_flag("--concat", flags->concat, "Treat the movies as one movie in several files");
    add_movie_flags(*app, flags->given.movie);
    add_psf_flags(*app, flags->given.psf);
    add_camera_flags(*app, flags->given.camera);
    allow_auto(*app);
    add_backend_flags(*app, flags->backend);
    app->add_option("--frames", flags->given.frames, "BEGIN:END, frames from 0, END excluded: 0:1000, 500:")
        ->group("Run");
    app->add_option("--threads", flags->threads, "Threads (default: GLINT_THREADS, or all that may be used)")
        ->check(CLI::Range(1, 4096))
        ->group("Run");
    add_console_flags(*app, flags->console);
    app->footer(run_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
