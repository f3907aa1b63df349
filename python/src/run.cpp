// Binding of run(); users see glint/running.py.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "base/option.hpp"
#include "bindings.hpp"
#include "glint/error.hpp"
#include "glint/workflow.hpp"
#include "running.hpp"
#include "workflow/check_recipe.hpp"

namespace glint::python {
namespace {

namespace fs = std::filesystem;

/// Throws the movie's error. Options in the message are named by the recipe's keys.
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

/// Spells options that are no keys of a recipe as arguments of run().
std::string as_argument(Option option, std::string_view) {
    return option == Option::concat ? "concat=True" : option == Option::resume ? "the same call" : "";
}

using Section = std::pair<std::string, std::string>;
using Told = std::tuple<std::string, fs::path, std::vector<fs::path>>;

/// Returns each movie's result as JSON, its folder and its files, whose names need not be UTF-8. `sections`: names and
/// TOML of the sections that override the recipe. If there is only one movie and it fails, throws its error.
std::vector<Told> run_movies(const std::vector<fs::path>& movies, const fs::path& out, bool concat,
                             const std::optional<fs::path>& recipe, const std::vector<Section>& sections,
                             const FitOptions& fit, nb::object progress, nb::object notice, nb::object warn) {
    Running running;
    RunOptions options;
    for (const fs::path& movie : movies) options.movies.push_back(movie.string());
    options.out = out, options.concat = concat;
    std::string all;
    for (const auto& [name, text] : sections) {
        parse_recipe(text, fmt::format("[{}]", name));  // errors name the section
        all += text;
    }
    options.given = parse_recipe(all, "glint.run()", &options.given_keys);
    static_cast<Placement&>(options) = fit, options.stop = running.stop();
    options.words = [](const std::string& message) {
        return in_python(spell(in_words_of_recipe(message, {}), as_argument));
    };
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
    std::vector<Told> found;
    for (const MovieRun& result : results)
        found.emplace_back(result.json, result.folder,
                           std::vector<fs::path>(result.movies.begin(), result.movies.end()));
    return found;
}

}  // namespace

void bind_run(nb::module_& m) {
    m.def("run", &run_movies, "movies"_a, "out"_a, "concat"_a, "recipe"_a.none(), "sections"_a, "fit"_a,
          "progress"_a.none(), "notice"_a.none(), "warn"_a.none());
}

}  // namespace glint::python
