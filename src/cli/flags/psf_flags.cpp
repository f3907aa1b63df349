// PSF flags.
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
        text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", name_of(model), describe(model).about, when);
    }
    return text;
}

/// The help of --psf-number; nothing where no model has any.
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
    for (const PsfModel model : psf_models()) models.emplace_back(name_of(model));
    offer_words(app.add_option("--psf", flags.model, all_models())->group(group), models);
    app.add_option("--sigma", flags.sigma,
                   "Standard deviation of the PSF, with unit: 130nm, 0.13um, 1.3px (free widths: where they start). No "
                   "default; about 0.21 wavelength / NA")
        ->group(group);
    offer_files(app.add_option("--calibration", flags.calibration, "Widths over z, from `glint calibrate astigmatism`")
                    ->group(group),
                toml_endings);
    if (const std::string numbers = all_own_numbers(); !numbers.empty())
        app.add_option("--psf-number", flags.numbers,
                       "NAME=VALUE, a number of the PSF model's own; again for more" + numbers)
            ->group(group);
}

std::string as_given(const PsfSetup& flags) {
    std::string text;
    if (!flags.model.empty() && flags.model != name_of(usual_model(flags))) text += " --psf " + flags.model;
    if (!flags.sigma.empty()) text += " --sigma " + shell_word(flags.sigma);
    if (!flags.calibration.empty()) text += " --calibration " + shell_file(flags.calibration);
    for (const std::string& number : flags.numbers) text += " --psf-number " + shell_word(number);
    return text;
}

void add_fit_flags(CLI::App& app, FitSettings& settings) {
    app.add_option("--max-iterations", settings.max_iterations, "Iterations before a fit is given up, 1 to 255")
        ->capture_default_str()
        ->group("Fit");
    app.add_option("--tolerance", settings.tolerance, "Converged when a step is below this fraction of the CRLB")
        ->capture_default_str()
        ->group("Fit");
}

}  // namespace glint::cli
