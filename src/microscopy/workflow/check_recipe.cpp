// Tries the recipe on a table of one row with the columns that localizing will write.
// SPDX-License-Identifier: MIT
#include "workflow/check_recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "base/option.hpp"
#include "glint/error.hpp"
#include "glint/filter.hpp"
#include "glint/link.hpp"
#include "glint/movie_io.hpp"
#include "pipeline/localize_job.hpp"
#include "render/canvas.hpp"
#include "workflow/step.hpp"

namespace glint {
namespace {

template <class Check>
void require(const char* key, const Check& check) {
    try {
        check();
    } catch (const OptionError& error) {
        throw OptionError(fmt::format("{} of the recipe: {}", key, error.what()));
    }
}

/// Returns the setup with default values for the parameters to estimate from the movie: no column depends on them.
LocalizeSetup without_estimates(LocalizeSetup setup) {
    if (setup.camera.offset && std::isnan(*setup.camera.offset)) setup.camera.offset = 0;
    if (setup.camera.gain && std::isnan(*setup.camera.gain)) setup.camera.gain = 1;
    if (setup.psf.sigma == word_auto) setup.psf.sigma = "1.3px";
    if (setup.psf.model == word_auto) setup.psf.model.clear(), setup.psf.sigma = "1.3px";
    return setup;
}

/// Returns one row as in 1_localized.hdf5.
Localizations localized_row(const LocalizeSetup& setup, const MovieInfo& movie) {
    MissingOptions none;  // missing values were reported before
    const CameraFacts facts = camera_facts(setup.camera, movie, none, true, &setup.psf);
    LocalizeOptions options = setup.options;
    options.pixel_size_nm = facts.pixel_size_nm;
    options.psf = psf_of(setup.psf, facts.pixel_size_nm);
    require("[movie] frames", [&] { options.frames = parse_frame_range(setup.frames, movie.frames); });
    return make_job(movie, facts.camera, options).like;
}

void check_conditions_on(const Localizations& row, const char* key, const std::vector<std::string>& conditions) {
    if (!conditions.empty()) require(key, [&] { filter(row, conditions); });
}

void check_picture(const Recipe::Render& render, const Localizations& row) {
    require("[render] picture_pixel", [&] {
        const Localizations* table = &row;
        Canvas(std::span(&table, 1), render_options(render, row));
    });
    if (render.color_z && row.z_nm.empty())
        throw OptionError(
            "[render] color_z of the recipe: there is no z to colour by: give a calibration, or color_z = false");
}

/// An option that is a key of the recipe.
struct RecipeOption {
    Option option;
    std::string_view section, key;
    bool is_given = false;    ///< users may give it in addition to the recipe: in CameraSetup, PsfSetup, MovieChoice
    bool takes_value = true;  ///< the value in a message has the same meaning here
};

/// Options that are not keys belong to the front end, or to no step.
constexpr RecipeOption recipe_options[] = {
    {Option::channel, "movie", "channel", true},
    {Option::z, "movie", "z", true},
    {Option::position, "movie", "position", true},
    {Option::frames, "movie", "frames", true},
    {Option::camera, "camera", "file", true},
    {Option::camera_preset, "camera", "preset", true},
    {Option::gain_unit, "camera", "gain_unit", true},
    {Option::camera_name, "camera", "name", true},
    {Option::camera_setting, "camera", "settings", true},
    {Option::sensor_roi, "camera", "sensor_roi", true},
    {Option::pixel_size, "camera", "pixel_size", true},
    {Option::offset, "camera", "offset", true},
    {Option::gain, "camera", "gain", true},
    {Option::readnoise, "camera", "readnoise", true},
    {Option::em_gain, "camera", "em_gain", true},
    {Option::psf, "psf", "model", true},
    {Option::sigma, "psf", "sigma", true},
    {Option::calibration, "psf", "calibration", true},
    {Option::psf_channel, "psf", "channel", true},
    {Option::psf_number, "psf", "numbers", true},
    {Option::roi_size, "localize", "roi_size"},
    {Option::threshold, "localize", "threshold"},
    {Option::emitters, "localize", "emitters"},
    {Option::max_iterations, "localize", "max_iterations"},
    {Option::tolerance, "localize", "tolerance"},
    {Option::psf_misfit, "localize", "psf_misfit"},
    {Option::neighbor_rounds, "localize", "neighbor_rounds"},
    {Option::zoom, "render", "picture_pixel", false, false},
};

std::string spelled_in_recipe(Option option, std::string_view value, const Speller& front) {
    const auto* const one = std::find_if(std::begin(recipe_options), std::end(recipe_options),
                                         [&](const RecipeOption& row) { return row.option == option; });
    if (front && (one == std::end(recipe_options) || one->is_given)) return front(option, value);
    if (one == std::end(recipe_options)) return "";
    const bool with_value = !value.empty() && one->takes_value;
    return fmt::format("{}{} of [{}] in the recipe", one->key, with_value ? fmt::format(" = {}", value) : "",
                       one->section);
}

/// Adds the recipe's key to the front end's name in a message that begins with an option, because the value may come
/// from the recipe or from the front end.
std::string with_key(const std::string& message, const Speller& front) {
    const std::size_t end = front && message.starts_with('`') ? message.find('`', 1) : message.npos;
    if (end == message.npos) return message;
    const auto key_of = [&](Option option, std::string_view value) {
        for (const RecipeOption& row : recipe_options)
            if (row.option == option && row.is_given)
                return fmt::format("[{}] {} of the recipe ({})", row.section, row.key, front(option, value));
        return std::string();
    };
    return spell(message.substr(0, end + 1), key_of) + message.substr(end + 1);
}

}  // namespace

void check_recipe(const Recipe& recipe, const LocalizeSetup& setup, const MovieInfo& movie) {
    Localizations row = localized_row(without_estimates(setup), movie);
    check_conditions_on(row, "[filter] where", recipe.filter);
    if (recipe.link.on) {
        Links alone;
        alone.track = {0}, alone.tracks = 1;
        row = merge_tracks(row, alone);
    }
    check_conditions_on(row, "[molecules] where", recipe.filter_molecules);
    check_picture(recipe.render, row);
}

std::string in_words_of_recipe(const std::string& message, const Speller& front) {
    return spell(with_key(message, front),
                 [&](Option option, std::string_view value) { return spelled_in_recipe(option, value, front); });
}

}  // namespace glint
