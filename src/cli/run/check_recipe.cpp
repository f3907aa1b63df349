// Tries the recipe on a table of one row with the columns that localizing will write.
// SPDX-License-Identifier: MIT
#include "cli/run/check_recipe.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "cli/run/step.hpp"
#include "glint/error.hpp"
#include "glint/filter.hpp"
#include "glint/link.hpp"
#include "glint/movie_io.hpp"
#include "pipeline/job.hpp"
#include "render/canvas.hpp"

namespace glint::cli {
namespace {

template <class Check>
void require(const char* key, const Check& check) {
    try {
        check();
    } catch (const OptionError& error) {
        throw OptionError(fmt::format("{} of the recipe: {}", key, error.what()));
    }
}

/// Usual values for those that will be estimated from the movie: no column depends on them.
LocalizeFlags without_estimates(LocalizeFlags flags) {
    if (flags.camera.offset && std::isnan(*flags.camera.offset)) flags.camera.offset = 0;
    if (flags.camera.gain && std::isnan(*flags.camera.gain)) flags.camera.gain = 1;
    if (flags.psf.sigma == word_auto) flags.psf.sigma = "1.3px";
    return flags;
}

/// One row of 1_localized.hdf5.
Localizations localized_row(const LocalizeFlags& flags, const MovieInfo& movie) {
    const CameraFacts facts = complete_facts(flags, movie);
    LocalizeOptions options = flags.options;
    options.pixel_size_nm = facts.pixel_size_nm;
    options.psf = psf_of(flags.psf, facts.pixel_size_nm);
    require("[movie] frames (--frames)", [&] { options.frames = parse_frame_range(flags.frames, movie.frames); });
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

/// In one pass, so that no replacement is replaced; the first that fits.
constexpr std::pair<std::string_view, std::string_view> words[] = {
    {"calibrate with --roi", "calibrate with --roi"},
    {"--roi", "roi_size of [localize] in the recipe"},
    {"--threshold", "threshold of [localize] in the recipe"},
    {"--emitters", "emitters of [localize] in the recipe"},
    {"--psf-misfit", "psf_misfit of [localize] in the recipe"},
    {"--neighbors", "neighbor_rounds of [localize] in the recipe"},
    {"--max-iterations", "max_iterations of [localize] in the recipe"},
    {"--tolerance", "tolerance of [localize] in the recipe"},
    {"--psf-number", "numbers of [psf] in the recipe"},
    {"--zoom", "picture_pixel of [render] in the recipe"},
    {"--radius", "glint link --radius"},
    {"--tile", "glint resolution --tile"},
    {"glint localize --preview", "glint localize --preview"},
    {"--preview", "glint localize --preview"},
    {"--keep-failed", "glint localize --keep-failed"},
    {"--keep-defective", "glint localize --keep-defective"},
    {"go on with --resume", "go on with the same command"},
};

/// Flags that are keys too: an error that begins with one, as "--sigma 130: ...", may be of either.
constexpr std::pair<std::string_view, std::string_view> keys_and_flags[] = {
    {"--channel", "[movie] channel"},
    {"--z", "[movie] z"},
    {"--position", "[movie] position"},
    {"--gain-unit", "[camera] gain_unit"},
    {"--camera-name", "[camera] name"},
    {"--camera-setting", "[camera] settings"},
    {"--camera", "[camera] file"},
    {"--camera-preset", "[camera] preset"},
    {"--sensor-roi", "[camera] sensor_roi"},
    {"--pixel-size", "[camera] pixel_size"},
    {"--psf", "[psf] model"},
    {"--sigma", "[psf] sigma"},
    {"--calibration", "[psf] calibration"},
};

/// Of an error that begins with a flag, the key beside it.
std::string with_key(const std::string& message) {
    const std::string flag = message.substr(0, message.find(' '));
    for (const auto& [name, key] : keys_and_flags)
        if (flag == name) return fmt::format("{} of the recipe ({}){}", key, flag, message.substr(flag.size()));
    return message;
}

}  // namespace

void check_recipe(const Recipe& recipe, const LocalizeFlags& given, const MovieInfo& movie) {
    Console console({.json = false, .quiet = true});
    FitOptions of_gpus;
    use_backend(given.backend, of_gpus, console);
    Localizations row = localized_row(without_estimates(given), movie);
    check_conditions_on(row, "[filter] where", recipe.filter);
    if (recipe.link.on) {
        Links alone;
        alone.track = {0}, alone.tracks = 1;
        row = merge_tracks(row, alone);
    }
    check_conditions_on(row, "[molecules] where", recipe.filter_molecules);
    check_picture(recipe.render, row);
}

std::string in_words_of_run(const std::string& given) {
    const std::string message = with_key(given);
    std::string text;
    const std::string_view all = message;
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
    for (std::size_t at = 0; at < all.size();) {
        const std::pair<std::string_view, std::string_view>* found = nullptr;
        for (const auto& word : words) {
            const std::size_t end = at + word.first.size();
            const bool is_whole = (at == 0 || !is_letter(all[at - 1])) && (end >= all.size() || !is_letter(all[end]));
            if (!found && is_whole && all.substr(at).starts_with(word.first)) found = &word;
        }
        text += found ? found->second : all.substr(at, 1);
        at += found ? found->first.size() : 1;
    }
    return text;
}

}  // namespace glint::cli
