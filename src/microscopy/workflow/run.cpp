// Processes all movies one after another. Each movie gets a folder. If one fails, the other movies are still processed.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <utility>

#include "base/no_memory.hpp"
#include "glint/error.hpp"
#include "glint/workflow.hpp"
#include "io/files/atomic_file.hpp"
#include "io/movie_files.hpp"
#include "workflow/check_recipe.hpp"
#include "workflow/movie_table.hpp"
#include "workflow/steps.hpp"
#include "workflow/summary.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Json = RunRecord::Json;

constexpr const char *recipe_name = "recipe.toml", *summary_name = "summary.csv", *conditions_name = "conditions.csv";

fs::path folder_of(const fs::path& results, const std::string& movie) {
    const fs::path path = movie.ends_with('/') ? fs::path(movie).parent_path() : fs::path(movie);
    std::error_code ignored;
    std::string stem = fs::is_directory(path, ignored) ? path.filename() : path.stem();
    if (stem.ends_with(".ome")) stem.resize(stem.size() - 4);
    if (stem == recipe_name || stem == summary_name) stem += "_movie";  // names of files in the results folder
    return results / stem;
}

/// Returns the movie's condition: the name of its folder, if movies from several folders are compared.
std::string condition_of(const std::string& movie) {
    const fs::path path =
        fs::absolute(movie.ends_with('/') ? fs::path(movie).parent_path() : fs::path(movie)).lexically_normal();
    return path.parent_path().filename().string();
}

/// Returns the movies of the command line and of its tables, each with its condition.
std::vector<ListedMovie> listed_movies(const RunOptions& options) {
    std::vector<ListedMovie> to;
    for (const std::string& name : options.movies) {
        if (!is_movie_table(name)) {
            to.push_back({name, {}});
            continue;
        }
        if (options.concat)
            throw OptionError(
                fmt::format("{} is a table of movies, each with its condition: leave `concat` out", name));
        for (ListedMovie& one : read_movie_table(name)) to.push_back(std::move(one));
    }
    return to;
}

/// Returns the folders for results, named after the movies. For movies with the same name, the folder's name is added.
std::map<std::string, fs::path> folders_of(const std::vector<fs::path>& movies, const fs::path& results) {
    std::map<fs::path, int> movies_of;
    for (const fs::path& movie : movies) ++movies_of[folder_of(results, movie.string())];
    std::map<std::string, fs::path> folders;
    for (const fs::path& movie : movies) {
        fs::path folder = folder_of(results, movie.string());
        if (movies_of[folder] > 1) folder = results / (condition_of(movie.string()) + "_" + folder.filename().string());
        folders[movie.string()] = folder;
    }
    return folders;
}

std::vector<RunTask> plan(const RunOptions& options) {
    const std::vector<ListedMovie> listed = listed_movies(options);
    if (options.concat)
        return {{options.movies, folder_of(options.out, options.movies.front()), condition_of(options.movies.front())}};
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
    const auto folders = folders_of(movies, options.out);
    for (const fs::path& first : movies) {
        const fs::path& folder = folders.at(first.string());
        const auto [entry, is_new] = taken.emplace(folder, first.string());
        if (!is_new)
            throw OptionError(
                fmt::format("{} and {} would both get the folder {}: give them different folders of results, or "
                            "`concat` makes them one movie",
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
    bool is_in_folder = false;  ///< unchanged, with the user's own comments
};

/// Returns the given recipe, else the folder's own, else the default. Other given values replace its values.
CompleteRecipe complete_recipe(const RunOptions& options) {
    const fs::path own = options.out / recipe_name;
    std::error_code none;
    const bool has_own = fs::exists(own, none);
    const bool takes_own = !options.recipe && has_own;
    const std::string from = options.recipe ? options.recipe_name : has_own ? own.string() : "";
    const Recipe base = options.recipe ? *options.recipe : has_own ? read_recipe(own) : Recipe();
    Recipe given = options.given;
    given.camera.camera_file = absolute(given.camera.camera_file),
    given.psf.calibration = absolute(given.psf.calibration);
    std::vector<std::string> changed;
    const Recipe recipe = with_given(base, given, changed, options.given_keys);
    const auto notice = [&](const std::string& text) {
        if (options.messages.notice) options.messages.notice(text);
    };
    if (!from.empty() && !changed.empty())
        notice(fmt::format("what is given differs from {}, and wins: {}", from, fmt::join(changed, ", ")));
    if (const std::vector<std::string> kept = values_beside(base, given, options.given_keys); !kept.empty())
        notice(
            fmt::format("from {}{}: {}", from, takes_own ? " (remove it to start again)" : "", fmt::join(kept, ", ")));
    const bool is_own = takes_own || (has_own && fs::equivalent(from, own, none));
    return {recipe, is_own && changed.empty()};
}

void write_recipe(const RunOptions& options, const Recipe& recipe) {
    std::error_code failed;
    fs::create_directories(options.out, failed);
    if (failed)
        throw OutputError(
            fmt::format("cannot make the folder {}: {}; choose another", options.out.string(), failed.message()));
    AtomicFile file(options.out / recipe_name);
    file.write(recipe_text(recipe));
    file.commit();
}

/// Throws OptionError before any work if options are missing or wrong for the first movie that can be opened.
void require_options(const RunOptions& options, const std::vector<RunTask>& tasks, const Recipe& recipe) {
    const LocalizeSetup setup = localize_setup(recipe, options);
    for (const RunTask& task : tasks) {
        std::unique_ptr<Movie> movie;
        try {
            movie = open_movie_of(task, setup);
        } catch (const InputError&) {
            continue;  // reported when it is processed
        }
        require_used(setup.options);
        complete_facts(setup, movie->info(), task, options);
        check_recipe(recipe, setup, movie->info());
        return;
    }
}

std::string words_of_failure(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
        return why_no_memory;
    } catch (const std::exception& error) {
        return error.what();
    }
}

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void do_task(const RunTask& task, const Recipe& recipe, const RunOptions& options, Json& json) {
    RunRecord record(task.folder);
    record.set("status", "unfinished");
    record.set("condition", task.condition);
    record.set("error", nullptr);
    try {
        run_steps(task, recipe, options, record);
        record.set("status", "complete");
    } catch (const Cancelled&) {
        throw;
    } catch (const std::exception&) {
        const std::exception_ptr thrown = std::current_exception();
        try {
            record.set("status", "failed");
            record.set("error", options.words(words_of_failure(thrown)));
        } catch (const OutputError&) {  // expected if the first error was one: the disk is full
        }
        std::rethrow_exception(thrown);
    }
    json.update(run_figures(record.json()));
}

MovieRun not_begun(const RunTask& task) {
    const Json json{{"movies", task.movies}, {"folder", task.folder.string()}, {"status", "stopped"}};
    return {task.movies, task.folder, MovieRun::Status::stopped, {}, {}, json_text(json)};
}

MovieRun run_task(const RunTask& task, const Recipe& recipe, const RunOptions& options) {
    MovieRun done = not_begun(task);
    Json json{{"movies", task.movies}, {"folder", task.folder.string()}};
    try {
        do_task(task, recipe, options, json);
        done.status = MovieRun::Status::complete;
    } catch (const Cancelled&) {
        json["status"] = "stopped";
    } catch (const std::exception&) {
        done.status = MovieRun::Status::failed, done.thrown = std::current_exception();
        done.error = options.words(words_of_failure(done.thrown));
        json["status"] = "failed", json["error"] = done.error;
    }
    if (options.messages.end_progress) options.messages.end_progress();
    done.json = json_text(json);
    return done;
}

/// Returns the options with functions that convert each message to the caller's words.
RunOptions worded(const RunOptions& options) {
    RunOptions to = options;
    if (!to.words) to.words = [](const std::string& message) { return in_words_of_recipe(message, {}); };
    if (options.messages.warn)
        to.messages.warn = [warn = options.messages.warn, words = to.words](const std::string& message) {
            warn(words(message));
        };
    return to;
}

std::vector<MovieRun> run_all(const RunOptions& options) {
    const std::vector<RunTask> tasks = plan(options);
    for (const char* name : {summary_name, conditions_name})
        if (const fs::path table = options.out / name; !may_become_summary(table))
            throw OptionError(
                fmt::format("{} exists, and glint run did not write it: choose another folder", table.string()));
    const bool has_region =
        !options.given.camera.region.empty() || (options.recipe && !options.recipe->camera.region.empty());
    if (has_region)
        throw OptionError(
            "`region` is no key of a recipe: cut the movie, or localize the region alone and continue with its table");
    const auto [recipe, is_in_folder] = complete_recipe(options);
    require_options(options, tasks, recipe);
    if (!is_in_folder) write_recipe(options, recipe);
    std::vector<MovieRun> results;
    bool has_conditions = false;
    bool is_stopped = false;
    std::exception_ptr summary_failure;
    for (const RunTask& task : tasks) {
        if (is_stopped) {
            results.push_back(not_begun(task));
            continue;
        }
        results.push_back(run_task(task, recipe, options));
        if (options.messages.done) options.messages.done(results.back());
        // Rewritten completely each time. A summary that cannot be written must not prevent further movies.
        summary_failure = {};
        try {
            has_conditions = write_run_summary(options.out, hash_text(recipe_text(recipe)));
        } catch (const OutputError&) {
            summary_failure = std::current_exception();
        }
        if (options.progress) options.progress(std::int64_t(results.size()), std::int64_t(tasks.size()), -1);
        is_stopped = results.back().status == MovieRun::Status::stopped;
    }
    if (summary_failure) {
        // A movie's own error has precedence.
        const bool all_done = std::none_of(results.begin(), results.end(), [](const MovieRun& movie) {
            return movie.status == MovieRun::Status::failed;
        });
        if (all_done) std::rethrow_exception(summary_failure);
        if (options.messages.warn) options.messages.warn(words_of_failure(summary_failure));
        return results;
    }
    if (!has_conditions || is_stopped) return results;
    try {
        draw_conditions(options.out, recipe.figures);
    } catch (const OutputError& error) {  // the means are in conditions.csv
        if (options.messages.warn) options.messages.warn(error.what());
    }
    return results;
}

}  // namespace

std::vector<MovieRun> run(const RunOptions& options) {
    const RunOptions own = worded(options);
    try {
        return run_all(own);
    } catch (const OptionError& error) {
        throw OptionError(own.words(error.what()));
    }
}

}  // namespace glint
