// The flag for each option that a message may name.
// SPDX-License-Identifier: MIT
#include "cli/spelling.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "workflow/check_recipe.hpp"

namespace glint::cli {
namespace {

struct OptionFlag {
    Option option;
    std::string_view words;
    bool is_quoted = false;  ///< a whole command, printed between backquotes
};

constexpr OptionFlag option_flags[] = {
    {Option::axial_radius, "--axial-radius"},
    {Option::backend, "--backend"},
    {Option::block_frames, "--block-frames"},
    {Option::calibration, "--calibration"},
    {Option::calibration_roi_size, "--roi"},
    {Option::camera, "--camera"},
    {Option::camera_name, "--camera-name"},
    {Option::camera_preset, "--camera-preset"},
    {Option::camera_setting, "--camera-setting"},
    {Option::channel, "--channel"},
    {Option::column, "--column"},
    {Option::concat, "--concat"},
    {Option::depth, "--depth"},
    {Option::doctor_calibrate, "glint doctor --calibrate"},
    {Option::doctor_guide, "glint doctor --guide", true},
    {Option::em_gain, "--em-gain"},
    {Option::emitters, "--emitters"},
    {Option::field, "--field"},
    {Option::filter_where, "glint filter --where", true},
    {Option::first_frame, "--first-frame"},
    {Option::follow, "--follow"},
    {Option::frames, "--frames"},
    {Option::gain, "--gain"},
    {Option::gain_unit, "--gain-unit"},
    {Option::gpu_memory, "--gpu-memory"},
    {Option::gpu_timeout, "--gpu-timeout"},
    {Option::immersion_index, "--immersion-index"},
    {Option::keep_defective, "--keep-defective"},
    {Option::keep_failed, "--keep-failed"},
    {Option::lease_gpus, "glint lease --gpus", true},
    {Option::lease_memory, "glint lease --memory", true},
    {Option::light, "--light"},
    {Option::max_iterations, "--max-iterations"},
    {Option::min_neighbors, "--min-neighbors"},
    {Option::na, "--na"},
    {Option::neighbor_rounds, "--neighbors"},
    {Option::offset, "--offset"},
    {Option::overwrite, "--overwrite"},
    {Option::pixel_size, "--pixel-size"},
    {Option::position, "--position"},
    {Option::preview, "--preview"},
    {Option::psf, "--psf"},
    {Option::psf_channel, "--psf-channel"},
    {Option::psf_misfit, "--psf-misfit"},
    {Option::psf_number, "--psf-number"},
    {Option::radius, "--radius"},
    {Option::ramp, "--ramp"},
    {Option::raw_frames, "--raw-frames"},
    {Option::readnoise, "--readnoise"},
    {Option::recipe, "glint run --recipe"},
    {Option::region, "--region"},
    {Option::report_size, "--report-size"},
    {Option::resume, "--resume"},
    {Option::roi_size, "--roi"},
    {Option::sample_index, "--sample-index"},
    {Option::sensor_roi, "--sensor-roi"},
    {Option::sigma, "--sigma"},
    {Option::table_pixel_size, "--pixel-size"},
    {Option::threads, "--threads"},
    {Option::threshold, "--threshold"},
    {Option::tile, "--tile"},
    {Option::tolerance, "--tolerance"},
    {Option::wavelength, "--wavelength"},
    {Option::where, "--where"},
    {Option::written_pixel_size, "--pixel-size"},
    {Option::z, "--z"},
    {Option::z_range, "--z-range"},
    {Option::z_step, "--z-step"},
    {Option::zernike, "--zernike"},
    {Option::zoom, "--zoom"},
};
static_assert(spells_all(option_flags));

/// Returns the flag for an option that is no key of a recipe: a flag of another command, or of glint run.
std::string flag_beside_recipe(Option option, std::string_view value) {
    constexpr std::array<std::pair<Option, const char*>, 5> others{
        {{Option::radius, "glint link --radius"},
         {Option::tile, "glint resolution --tile"},
         {Option::preview, "glint localize --preview"},
         {Option::keep_failed, "glint localize --keep-failed"},
         {Option::keep_defective, "glint localize --keep-defective"}}};
    for (const auto& [other, words] : others)
        if (other == option) return fmt::format("{}{}{}", words, value.empty() ? "" : " ", value);
    return option == Option::resume ? "the same command" : flag_of(option, value);
}

}  // namespace

std::string flag_of(Option option, std::string_view value) {
    const auto& [same, words, is_quoted] = option_flags[std::size_t(option)];
    std::string text(words);
    const bool needs_quotes = value.find_first_of(" <>&|;()*?$'") != value.npos && !value.starts_with('"');
    if (!value.empty()) (text += needs_quotes ? " \"" : " ").append(value) += needs_quotes ? "\"" : "";
    return is_quoted ? "`" + text + "`" : text;
}

std::string in_flags(std::string_view message) { return spell(message, flag_of); }

std::string in_words_of_run(const std::string& message) { return in_words_of_recipe(message, flag_beside_recipe); }

}  // namespace glint::cli
