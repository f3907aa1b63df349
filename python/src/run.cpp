// Binding of run(); users see glint/running.py.
// SPDX-License-Identifier: MIT
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "glint/error.hpp"
#include "glint/workflow.hpp"
#include "running.hpp"
#include "spelling.hpp"
#include "workflow/check_recipe.hpp"

namespace glint::python {
namespace {

namespace fs = std::filesystem;

/// The movie's error, with the recipe's keys where it names options.
[[noreturn]] void throw_worded(const MovieRun& movie) {
    try {
        std::rethrow_exception(movie.thrown);
    } catch (const OptionError&) {
        throw OptionError(movie.error);
    } catch (const InputError&) {
        throw InputError(movie.error);
    } catch (const OutputError&) {
        throw OutputError(movie.error);
    }
}

/// Each movie's result as JSON. `sections`: TOML of what is given besides the recipe. A single movie that fails throws its error.
std::vector<std::string> run_movies(const std::vector<std::string>& movies, const fs::path& out, bool concat,
                                    const std::optional<fs::path>& recipe, const std::string& sections,
                                    const FitOptions& fit, nb::object progress, nb::object notice, nb::object warn) {
    Running running;
    RunOptions options;
    options.movies = movies, options.out = out, options.concat = concat;
    options.given = parse_recipe(sections, "glint.run()", &options.given_keys);
    options.fit = fit, options.threads = fit.threads, options.stop = running.stop();
    options.words = [](const std::string& message) { return in_python(in_words_of_recipe(message, {})); };
    options.messages.notice = running.text(notice);
    options.messages.warn = running.text(warn);
    if (!progress.is_none())
        options.messages.progress = [&](const std::string& part, const std::string&) {
            return running.progress(progress, part);
        };
    const std::vector<MovieRun> results = running.run([&] {
        if (recipe) options.recipe = read_recipe(*recipe), options.recipe_name = recipe->string();
        return run(options);
    });
    if (results.size() == 1 && results.front().thrown) throw_worded(results.front());
    std::vector<std::string> texts;
    for (const MovieRun& result : results) texts.push_back(result.json);
    return texts;
}

}  // namespace

void bind_run(nb::module_& m) {
    m.def("run", &run_movies, "movies"_a, "out"_a, "concat"_a, "recipe"_a.none(), "sections"_a, "fit"_a,
          "progress"_a.none(), "notice"_a.none(), "warn"_a.none());
}

}  // namespace glint::python
