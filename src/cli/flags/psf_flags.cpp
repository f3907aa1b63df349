// The flags that describe the PSF and the fit.
// SPDX-License-Identifier: MIT
#include "cli/flags/psf_flags.hpp"

#include <fmt/format.h>

#include <vector>

#include "cli/flags/choices.hpp"
#include "cli/spelling.hpp"
#include "workflow/psf_setup.hpp"

namespace glint::cli {
namespace {

/// "GaussianXYNB (width fixed; the default), GaussianXYNBS (one free width), ..."
std::string all_models() {
    std::string text;
    for (const PsfModel model : psf_models()) {
        const char* when = model == PsfModel::GaussianXYNB      ? "; the default"
                           : model == PsfModel::AstigmaticXYZNB ? "; the default with --calibration"
                                                                : "";
        text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", to_name(model), describe(model).about, when);
    }
    return text +
           "; or the file of a measured PSF, from `glint calibrate psf`; auto: a PSF without z, from the movie's lone "
           "spots";
}

/// Returns the help of --psf-number. Empty if no model has numbers.
std::string all_own_numbers() {
    std::string text;
    for (const PsfModel model : psf_models())
        if (const PsfDescription& d = describe(model); !d.numbers.empty())
            text += fmt::format(". {}: {}", d.name, own_numbers(d));
    return text;
}

}  // namespace

void add_psf_flags(CLI::App& app, PsfSetup& flags) {
    const std::string group = "Spots";
    std::vector<std::string> models;
    for (const PsfModel model : psf_models()) models.emplace_back(to_name(model));
    models.emplace_back(word_auto);
    offer_words(app.add_option("--psf", flags.model, all_models())->group(group), models);
    app.add_option(
           "--sigma", flags.sigma,
           "Standard deviation of the PSF, with unit: 130nm, 0.13um, 1.3px (start value of free widths). No default; "
           "about 0.21 wavelength / NA")
        ->group(group);
    offer_files(app.add_option("--calibration", flags.calibration, "Widths over z, from `glint calibrate astigmatism`")
                    ->group(group),
                toml_endings);
    app.add_option("--psf-channel", flags.channel, "Which PSF of a file with several, from 1 (such as SMAP's, uiPSF's)")
        ->check(CLI::Range(1, 1000))
        ->group(group);
    if (const std::string numbers = all_own_numbers(); !numbers.empty())
        app.add_option("--psf-number", flags.numbers,
                       "NAME=VALUE, a parameter of the PSF model; can be repeated" + numbers)
            ->group(group);
}

std::string as_given(const PsfSetup& flags) {
    std::string text;
    if (!flags.model.empty() && flags.model != to_name(default_model(flags)))
        text += " --psf " + shell_word(flags.model);
    if (!flags.sigma.empty()) text += " --sigma " + shell_word(flags.sigma);
    if (!flags.calibration.empty()) text += " --calibration " + shell_file(flags.calibration);
    if (flags.channel) text += fmt::format(" --psf-channel {}", *flags.channel);
    for (const std::string& number : flags.numbers) text += " --psf-number " + shell_word(number);
    return text;
}

void add_fit_flags(CLI::App& app, FitSettings& settings) {
    app.add_option("--max-iterations", settings.max_iterations, "Maximum number of iterations of a fit, 1 to 255")
        ->capture_default_str()
        ->group("Fit");
    app.add_option("--tolerance", settings.tolerance,
                   "A fit has converged when a step is below this fraction of the CRLB")
        ->capture_default_str()
        ->group("Fit");
}

}  // namespace glint::cli
