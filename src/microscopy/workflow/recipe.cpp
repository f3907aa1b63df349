// The keys of a recipe.
// SPDX-License-Identifier: MIT
#include "workflow/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/detect.hpp"

namespace glint {
namespace {

/// Returns a TOML string: control characters, quotes and backslashes are escaped.
std::string in_toml_quotes(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f)
            out += fmt::format("\\u{:04X}", unsigned(byte));
        else
            out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    return out + '"';
}

/// Returns the shortest text that reads back as the same value and is a float in TOML.
std::string number_text(double value) {
    std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string text_of(const std::string* value) { return value->empty() ? "" : in_toml_quotes(*value); }
std::string text_of(const std::optional<std::string>* value) { return *value ? in_toml_quotes(**value) : ""; }
std::string text_of(const std::optional<std::int64_t>* value) { return *value ? fmt::format("{}", **value) : ""; }
std::string text_of(const std::optional<double>* value) {
    return !*value ? "" : std::isnan(**value) ? in_toml_quotes(std::string(word_auto)) : number_text(**value);
}
std::string text_of(const std::int64_t* value) { return fmt::format("{}", *value); }
std::string text_of(const double* value) { return number_text(*value); }
std::string text_of(const bool* value) { return *value ? "true" : "false"; }
std::string text_of(const std::vector<std::string>* value) {
    std::string text;
    for (const std::string& word : *value) text += (text.empty() ? "" : ", ") + in_toml_quotes(word);
    return "[" + text + "]";
}

}  // namespace

std::vector<RecipeKey> keys_of(Recipe& r) {
    constexpr double many = 1e12;
    return {
        {"movie", "channel", &r.movie.channel, "The channel of a file with several, by number or name", "\"0\""},
        {"movie", "z", &r.movie.z, "The z plane of a file with several, from 0", "0", 0, many},
        {"movie", "position", &r.movie.position, "The stage position of a file with several, from 0", "0", 0, many},
        {"movie", "frames", &r.frames, "BEGIN:END, frames from 0, END excluded; unset: all", "\"500:\""},

        {"camera", "file", &r.camera.camera_file,
         "camera.toml with the values below or maps of the sensor; maps in .hdf5 or .mat; Picasso's config.yaml",
         "\"camera.toml\""},
        {"camera", "preset", &r.camera.preset, "Instead of a file: typical values of a common camera, as a start",
         "\"andor-zyla\""},
        {"camera", "gain_unit", &r.camera.gain_unit,
         "Unit of the gain below, and of a map without a unit: e-/ADU or ADU/e-", "\"e-/ADU\""},
        {"camera", "name", &r.camera.camera_name, "The camera, if the file is Picasso's config.yaml",
         "\"Andor Zyla 4.2 Plus\""},
        {"camera", "settings", &r.camera.camera_settings,
         "The settings of that camera on which its sensitivity depends"},
        {"camera", "sensor_roi", &r.camera.sensor_roi, "X,Y: sensor pixel of the movie's first pixel, px (with maps)",
         "\"512,256\""},
        {"camera", "pixel_size", &r.camera.pixel_size,
         "Edge of a camera pixel in the sample. These values win over the file, and that over the movie's metadata",
         "\"100nm\""},
        {"camera", "offset", &r.camera.offset, "Counts of a dark pixel, ADU; \"auto\": estimated from the movie",
         "100.0", -1e6, 1e6},
        {"camera", "gain", &r.camera.gain, "Photoelectrons per ADU, before EM gain; \"auto\": estimated from the movie",
         "0.5", 1e-6, 1e6},
        {"camera", "readnoise", &r.camera.readnoise, "Read noise, photoelectrons rms", "1.5", 0, 1e5},
        {"camera", "em_gain", &r.camera.em_gain, "EM gain: makes the camera an EMCCD, with its excess noise", "300.0",
         1, 1e5},

        {"psf", "model", &r.psf.model,
         "Unset: GaussianXYNB, or AstigmaticXYZNB with a calibration; \"auto\": measured in the movie (glint fit "
         "--help)",
         "\"GaussianXYNB\""},
        {"psf", "sigma", &r.psf.sigma, "Standard deviation of the PSF; \"auto\": estimated from the movie",
         "\"130nm\""},
        {"psf", "calibration", &r.psf.calibration, "Widths over z, from `glint calibrate astigmatism`", "\"cal.toml\""},
        {"psf", "channel", &r.psf.channel, "Which PSF of a measured PSF's file with several, from 1", "1", 1, 1000,
         true},
        {"psf", "numbers", &r.psf.numbers, "NAME=VALUE, numbers of the model's own"},

        {"localize", "emitters", &r.localize.emitters,
         "\"auto\": molecules that overlap are fitted together; \"1\": one per window"},
        {"localize", "roi_size", &r.localize.roi_size, "Edge of the fitted window, px; unset: from the PSF", "7",
         min_roi_size, max_roi_size},
        {"localize", "threshold", &r.localize.threshold,
         "Detection threshold, standard deviations of the noise; unset: 5, EMCCD 6", "5.0", 1, 1000},
        {"localize", "psf_misfit", &r.localize.psf_misfit,
         "By what part of its width the PSF may differ from the model; unset: from lone spots", "0.05", 0, 1},
        {"localize", "neighbor_rounds", &r.localize.neighbor_rounds,
         "With emitters = \"1\": rounds in which spots that overlap are fitted again", "", 0, 100},
        {"localize", "max_iterations", &r.localize.max_iterations, "Before a fit is given up", "", 1, 255},
        {"localize", "tolerance", &r.localize.tolerance, "Converged when a step is below this fraction of the CRLB", "",
         0, 1},

        {"filter", "where", &r.filter,
         "Conditions that localizations must fulfil before anything else, as of `glint filter`:\n"
         "[\"photons > 500\", \"lpx_nm < 30\", \"sx within 10% of mode\"]; []: all are kept"},

        {"drift", "on", &r.drift.on, "Estimate the drift of the sample from the localizations and correct it"},
        {"drift", "beads", &r.drift.beads, "Use fiducial beads if there are any: spots seen in 80 % of the frames"},

        {"link", "on", &r.link.on, "Join the localizations of a blink in consecutive frames to one row"},
        {"link", "radius_sigma", &r.link.radius_sigma,
         "Largest distance, standard deviations; unset: from the data, as the next", "5.0", 0.1, 100},
        {"link", "gap", &r.link.gap, "Dark frames in a row that a blink may have", "1", 0, 1e6},

        {"molecules", "where", &r.filter_molecules,
         "Conditions that rows must fulfil after linking: [\"n >= 2\", \"neighbors(50nm) >= 5\"]; []: all are kept"},

        {"resolution", "on", &r.resolution, "NeNA and Fourier ring correlation (before linking)"},

        {"render", "picture_pixel", &r.render.picture_pixel,
         "Edge of a picture pixel; unset: 10 nm, or less for at least 1,000 px along the longer edge, or more for at "
         "most 10,000 px",
         "\"10nm\""},
        {"render", "blur", &r.render.blur,
         "Standard deviation of each molecule's blur; unset: its precision, corrected if NeNA measures another one",
         "\"10nm\""},
        {"render", "color_z", &r.render.color_z, "z as colour, density as brightness (of 3D data)"},
        {"render", "colormap", &r.render.colormap, "inferno, viridis, magma, cividis, gray, turbo; unset: inferno",
         "\"magma\""},
        {"render", "saturate", &r.render.saturate, "Share of the brightest pixels shown white, percent", "", 0, 100},

        {"figures", "formats", &r.figures, "Formats of the plots: png, svg; []: only their data"},
    };
}

std::string toml_value(const RecipeKey& key) {
    return std::visit([](const auto* value) { return text_of(value); }, key.value);
}

std::string section_text(const Recipe& recipe, std::string_view section) {
    Recipe copy = recipe;
    std::string text;
    for (const RecipeKey& key : keys_of(copy))
        if (key.section == section && !(key.is_later && toml_value(key).empty()))
            text += fmt::format("{}.{}={}\n", section, key.name, toml_value(key));
    return text;
}

Recipe with_given(const Recipe& recipe, const Recipe& given, std::vector<std::string>& changed,
                  const std::vector<std::string>& named) {
    Recipe to = recipe, other = given, unset;
    const std::vector<RecipeKey> keys = keys_of(to), from = keys_of(other), none = keys_of(unset);
    for (std::size_t k = 0; k < keys.size(); ++k) {
        const std::string value = toml_value(from[k]), name = fmt::format("{}.{}", keys[k].section, keys[k].name);
        const bool is_given =
            value != toml_value(none[k]) || std::find(named.begin(), named.end(), name) != named.end();
        if (!is_given || value == toml_value(keys[k])) continue;
        changed.push_back(name);
        std::visit(
            [&](auto* place) { *place = *std::get<decltype(place)>(from[k].value); },  // the lists have the same types
            keys[k].value);
    }
    return to;
}

std::vector<std::string> values_beside(const Recipe& recipe, const Recipe& given,
                                       const std::vector<std::string>& named) {
    Recipe has = recipe, other = given, unset;
    const std::vector<RecipeKey> keys = keys_of(has), from = keys_of(other), none = keys_of(unset);
    std::vector<std::string> values;
    for (std::size_t k = 0; k < keys.size(); ++k) {
        const std::string usual = toml_value(none[k]), value = toml_value(keys[k]);
        const std::string name = fmt::format("{}.{}", keys[k].section, keys[k].name);
        const bool is_named = std::find(named.begin(), named.end(), name) != named.end();
        if (value != usual && toml_value(from[k]) == usual && !is_named)
            values.push_back(fmt::format("{} = {}", name, value.empty() ? "unset" : value));
    }
    return values;
}

}  // namespace glint
