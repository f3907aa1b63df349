// `glint run`: movies to finished pictures, with every table on the way, in one command.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>

#include "cli/command.hpp"
#include "cli/commands/estimates.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/table_names.hpp"
#include "cli/print.hpp"
#include "cli/report.hpp"
#include "cli/run/check_recipe.hpp"
#include "cli/run/movie_table.hpp"
#include "cli/run/steps.hpp"
#include "cli/run/summary.hpp"
#include "cli/stop.hpp"
#include "glint/error.hpp"
#include "io/continuation.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/check_outputs.hpp"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;
using Json = Record::Json;

constexpr const char *recipe_name = "recipe.toml", *summary_name = "summary.csv", *conditions_name = "conditions.csv";

constexpr const char* run_footer = R"(
Examples:
  glint run movie.tif -o results --sigma 130nm --pixel-size 100nm --offset 100 --gain 0.5
  glint run day1/*.tif -o results --camera camera.toml --sigma auto
  glint run movie.tif -o results --recipe my_recipe.toml
  glint run movies.csv -o results --camera camera.toml --sigma 130nm

A table such as movies.csv has the columns movie and condition; names of movies begin at its folder. Without a table, a movie's condition is the
name of its folder. Writes results/recipe.toml, with every option of every step; results/summary.csv, with a row for each movie; if they have several
conditions, results/conditions.csv with the means of each; and for each movie a
folder results/MOVIE: 1_localized.hdf5, 2_filtered.hdf5, 3_corrected.hdf5 and 3_drift.txt, 4_linked.hdf5, 5_molecules.hdf5,
resolution.json, picture.png and picture.tif, picture_before.png, figures/, and run.json, which says what was done with what.
Stopped (Ctrl-C) or killed, it goes on where it was when the same command is given again. Edit results/recipe.toml and give the same
command: the steps from the first that changed are done again. Plots are drawn where gnuplot is installed.)";

struct RunFlags {
    std::vector<std::string> movies;
    std::string out, recipe;
    bool concat = false;
    Recipe given;  ///< what the command line says: movie, camera, psf
    RunMeans means;
    ConsoleFlags console;
};

fs::path folder_of(const fs::path& results, const std::string& movie) {
    const fs::path path = movie.ends_with('/') ? fs::path(movie).parent_path() : fs::path(movie);
    std::error_code ignored;
    std::string stem = fs::is_directory(path, ignored) ? path.filename() : path.stem();
    if (stem.ends_with(".ome")) stem.resize(stem.size() - 4);
    if (stem == recipe_name || stem == summary_name) stem += "_movie";  // those are files of the folder
    return results / stem;
}

/// The name of the folder that a movie lies in, which is its condition where movies of several folders are compared.
std::string condition_of(const std::string& movie) {
    const fs::path path =
        fs::absolute(movie.ends_with('/') ? fs::path(movie).parent_path() : fs::path(movie)).lexically_normal();
    return path.parent_path().filename().string();
}

/// The movies of the command line and of its tables, each with its condition.
std::vector<ListedMovie> listed_movies(const RunFlags& flags) {
    std::vector<ListedMovie> to;
    for (const std::string& name : flags.movies) {
        if (!is_movie_table(name)) {
            to.push_back({name, {}});
            continue;
        }
        if (flags.concat)
            throw OptionError(
                fmt::format("{} is a table of movies, each with its condition: leave --concat out", name));
        for (ListedMovie& one : read_movie_table(name)) to.push_back(std::move(one));
    }
    return to;
}

/// The folders of results: by the movies' names; of those that have one name, by their folders' names, too.
std::map<std::string, fs::path> folders_of(const std::vector<fs::path>& movies, const std::string& results) {
    std::map<fs::path, int> movies_of;
    for (const fs::path& movie : movies) ++movies_of[folder_of(results, movie.string())];
    std::map<std::string, fs::path> folders;
    for (const fs::path& movie : movies) {
        fs::path folder = folder_of(results, movie.string());
        if (movies_of[folder] > 1)
            folder = fs::path(results) / (condition_of(movie.string()) + "_" + folder.filename().string());
        folders[movie.string()] = folder;
    }
    return folders;
}

std::vector<RunTask> plan(const RunFlags& flags) {
    const std::vector<ListedMovie> listed = listed_movies(flags);
    if (flags.concat)
        return {{flags.movies, folder_of(flags.out, flags.movies.front()), condition_of(flags.movies.front())}};
    std::map<std::string, std::string> conditions;
    std::vector<fs::path> given;
    for (const ListedMovie& one : listed) {
        given.emplace_back(one.movie);
        const std::string condition = one.condition.value_or(condition_of(one.movie));
        if (const auto [entry, is_new] = conditions.emplace(one.movie, condition);
            !is_new && entry->second != condition)
            throw OptionError(fmt::format("{} has two conditions, {} and {}", one.movie, entry->second, condition));
    }
    std::map<fs::path, std::string> taken;
    std::vector<RunTask> tasks;
    const std::vector<fs::path> movies = without_continuations(given);
    const auto folders = folders_of(movies, flags.out);
    for (const fs::path& first : movies) {
        const fs::path& folder = folders.at(first.string());
        const auto [entry, is_new] = taken.emplace(folder, first.string());
        if (!is_new)
            throw OptionError(fmt::format(
                "{} and {} would both get the folder {}: give them different -o, or --concat makes them one movie",
                entry->second, first.string(), folder.string()));
        tasks.push_back({{first.string()}, folder, conditions.at(first.string())});
    }
    return tasks;
}

std::string absolute(const std::string& file) {
    return file.empty() ? file : fs::absolute(file).lexically_normal().string();
}

struct CompleteRecipe {
    Recipe recipe;
    bool is_in_folder = false;  ///< as it is, with the user's own comments
};

/// --recipe, else the folder's own, else the defaults; with what the command line says.
CompleteRecipe complete_recipe(const RunFlags& flags, Console& console) {
    const fs::path own = fs::path(flags.out) / recipe_name;
    std::error_code none;
    const bool has_own = fs::exists(own, none);
    const fs::path from = !flags.recipe.empty() ? fs::path(flags.recipe) : has_own ? own : fs::path();
    Recipe given = flags.given;
    given.camera.camera_file = absolute(given.camera.camera_file),
    given.psf.calibration = absolute(given.psf.calibration);
    std::vector<std::string> changed;
    const Recipe base = from.empty() ? Recipe() : read_recipe(from);
    const Recipe recipe = with_flags(base, given, changed);
    if (!from.empty() && !changed.empty())
        console.notice(
            fmt::format("the command line differs from {}, and wins: {}", from.string(), fmt::join(changed, ", ")));
    if (const std::vector<std::string> kept = values_beside(base, given); !kept.empty())
        console.notice(fmt::format("from {}{}: {}", from.string(),
                                   flags.recipe.empty() ? " (remove it to begin anew)" : "", fmt::join(kept, ", ")));
    return {recipe, has_own && fs::equivalent(from, own, none) && changed.empty()};
}

void write_recipe(const RunFlags& flags, const Recipe& recipe) {
    std::error_code failed;
    fs::create_directories(flags.out, failed);
    if (failed)
        throw OutputError(
            fmt::format("cannot make the folder {}: {}; choose another with -o", flags.out, failed.message()));
    AtomicFile file(fs::path(flags.out) / recipe_name);
    file.write(recipe_text(recipe));
    file.commit();
}

/// Options that are missing or wrong for the first movie that can be opened, before any work: throws OptionError.
void require_options(const RunFlags& flags, const std::vector<RunTask>& tasks, const Recipe& recipe) {
    for (const RunTask& task : tasks) {
        const LocalizeFlags of_movie = localize_flags(recipe, {task.movies, flags.out, task.condition}, flags.means);
        std::unique_ptr<Movie> movie;
        try {
            movie = open_movies(task.movies, of_movie);
        } catch (const InputError&) {
            continue;  // told when its turn comes
        }
        require_used(of_movie);
        complete_facts(of_movie, movie->info());
        check_recipe(recipe, of_movie, movie->info());
        return;
    }
}

Json run_task(const RunTask& task, const Recipe& recipe, const RunFlags& flags, Console& console, int& code) {
    Json json{{"movies", task.movies}, {"folder", task.folder.string()}};
    try {
        Record record(task.folder);
        record.set("status", "unfinished");
        record.set("condition", task.condition);
        record.set("error", nullptr);
        try {
            run_steps(task, recipe, flags.means, record, console);
            record.set("status", "complete");
        } catch (const Cancelled&) {
            throw;
        } catch (const std::exception&) {
            const std::exception_ptr thrown = std::current_exception();
            try {
                record.set("status", "failed");
                record.set("error", in_words_of_run(failure_of(thrown).message));
            } catch (const OutputError&) {  // as the first may be: the disk is full
            }
            std::rethrow_exception(thrown);
        }
        json.update(run_figures(record.json()));
    } catch (const Cancelled&) {
        code = exit_interrupted;
        json["status"] = "stopped";
    } catch (const std::exception&) {
        Failure failure = failure_of(std::current_exception());
        failure.message = in_words_of_run(failure.message);
        console.end_progress();
        console.say("glint: " + failure.message);
        if (code == exit_ok) code = failure.exit_code;
        json["status"] = "failed", json["error"] = failure.message;
    }
    console.end_progress();
    return json;
}

std::string length_text(const Json& json, const char* value, const char* error) {
    if (!json.contains(value) || !json[value].is_number()) return "-";
    const std::string nm = fmt::format("{:.1f}", json[value].get<double>());
    return json.contains(error) && json[error].is_number()
               ? fmt::format("{} +- {:.1f} nm", nm, json[error].get<double>())
               : nm + " nm";
}

void print_movie(const Json& json) {
    const auto count = [&](const char* name) {
        return json.contains(name) && json[name].is_number() ? with_commas(json[name].get<std::int64_t>())
                                                             : std::string("-");
    };
    Summary summary;
    summary.add("movie", json["movies"][0].get<std::string>());
    summary.add("frames", count("frames"));
    summary.add("localizations", fmt::format("{}, {} kept", count("localizations"), count("kept")));
    summary.add("drift", fmt::format("{} RMS, error {} (means of 100 frames, along an axis)",
                                     length_text(json, "drift_rms_nm", ""), length_text(json, "drift_error_nm", "")));
    summary.add("precision",
                fmt::format("NeNA {}; median that all rows state: {}", length_text(json, "nena_nm", "nena_error_nm"),
                            length_text(json, "precision_nm", "")));
    summary.add("resolution", fmt::format("FRC {}", length_text(json, "frc_nm", "frc_error_nm")));
    summary.add("molecules", count("molecules"));
    for (const Json& warning : json["warnings"]) summary.add("warning", warning.get<std::string>());
    summary.add("written", json["folder"].get<std::string>());
    summary.print();
}

int finish(const std::vector<Json>& results, std::size_t tasks, int code, const RunFlags& flags) {
    std::size_t failed = 0;
    std::string list;
    for (const Json& result : results) {
        if (result["status"] != "failed") continue;
        ++failed;
        list += line_of_failed(result["movies"][0], result["error"]);
    }
    if (flags.console.json) print_json(tasks > 1 ? Json(results) : results.front());
    if (failed > 0 && tasks > 1) tell("glint: {} of {} movies failed:\n{}", failed, tasks, list);
    if (code == exit_interrupted)
        tell("glint: stopped: the same command goes on, and does nothing twice that is finished\n");
    return code;
}

int run(const RunFlags& flags) {
    stop_on_signals();
    Console console(flags.console, in_words_of_run);
    const std::vector<RunTask> tasks = plan(flags);
    for (const char* name : {summary_name, conditions_name})
        if (const fs::path table = fs::path(flags.out) / name; !may_become_summary(table))
            throw OptionError(fmt::format("{} exists, and glint run did not write it: choose another folder with -o",
                                          table.string()));
    const auto [recipe, is_in_folder] = complete_recipe(flags, console);
    require_options(flags, tasks, recipe);
    if (!is_in_folder) write_recipe(flags, recipe);
    std::vector<Json> results;
    int code = exit_ok;
    bool has_conditions = false;
    for (const RunTask& task : tasks) {
        results.push_back(run_task(task, recipe, flags, console, code));
        has_conditions = write_run_summary(flags.out, hash_text(recipe_text(recipe)));
        if (!flags.console.json && results.back()["status"] == "complete") print_movie(results.back());
        if (results.back()["status"] == "stopped") break;
    }
    if (has_conditions && code != exit_interrupted)
        if (const std::string why = draw_conditions(flags.out, recipe.figures, stop_on_signals()); !why.empty())
            console.warn(fmt::format("gnuplot did not draw {}/conditions: {}", flags.out, why));
    return finish(results, tasks.size(), code, flags);
}

}  // namespace

Command add_run(CLI::App& program) {
    const auto flags = std::make_shared<RunFlags>();
    CLI::App* app = program.add_subcommand("run", "Movies to finished pictures: all steps in one");
    offer_files(app->add_option("movies", flags->movies,
                                "Movies, at least one, or a table of them with their conditions (.csv)")
                    ->required(),
                offered_movie_endings());
    offer_folders(app->add_option("-o,--output", flags->out, "Folder of the results")->required());
    offer_files(app->add_option("--recipe", flags->recipe,
                                "Options of all steps (default: recipe.toml of the folder, where there is one)"),
                toml_endings);
    app->add_flag("--concat", flags->concat, "The movies are one movie in several files");
    add_movie_flags(*app, flags->given.movie);
    add_psf_flags(*app, flags->given.psf);
    add_camera_flags(*app, flags->given.camera);
    allow_auto(*app);
    add_backend_flags(*app, flags->means.backend);
    app->add_option("--frames", flags->given.frames, "BEGIN:END, frames from 0, END excluded: 0:1000, 500:")
        ->group("Run");
    app->add_option("--threads", flags->means.threads, "Threads (default: GLINT_THREADS, or all that may be used)")
        ->check(CLI::Range(1, 4096))
        ->group("Run");
    add_console_flags(*app, flags->console);
    app->footer(run_footer);
    return {app, [flags] {
                try {
                    return run(*flags);
                } catch (const OptionError& error) {
                    throw OptionError(in_words_of_run(error.what()));
                }
            }};
}

}  // namespace glint::cli
