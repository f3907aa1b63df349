// The PSF from the command line.
// SPDX-License-Identifier: MIT
#include "cli/flags/psf_flags.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "cli/flags/camera_flags.hpp"
#include "cli/flags/choices.hpp"
#include "cli/shell_word.hpp"
#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"

namespace glint::cli {
namespace {

PsfModel usual_model(const PsfFlags& flags) {
    return flags.calibration.empty() ? PsfModel::GaussianXYNB : PsfModel::AstigmaticXYZNB;
}

/// The one that is given, else the usual one. Throws OptionError where widths are given that it does not take.
PsfModel model_of(const PsfFlags& flags) {
    const PsfModel model = flags.model.empty() ? usual_model(flags) : parse_psf_model(flags.model);
    if (describe(model).calibrated && !flags.sigma.empty())
        throw OptionError(fmt::format(
            "`sigma={}` has no use with {}, whose widths over z --calibration gives: leave --sigma "
            "out{}",
            flags.sigma, name_of(model), flags.calibration.empty() ? "" : ", or for a fit in 2D --calibration"));
    if (!describe(model).calibrated && !flags.calibration.empty())
        throw OptionError(
            fmt::format("`calibration={}` gives widths over z, which {}, a fit in 2D, does not take: take --psf "
                        "AstigmaticXYZNB{}, or leave --calibration out{}",
                        flags.calibration, name_of(model), flags.sigma.empty() ? "" : " without --sigma",
                        flags.sigma.empty() ? " and give --sigma" : ""));
    return model;
}

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

/// "ratio=1.5 (0.2 to 5), the width along y over that along x; ..."
std::string own_numbers(const PsfDescription& model) {
    std::string text;
    for (const PsfNumber& number : model.numbers)
        text += fmt::format("{}{}={:g} ({:g} to {:g}), {}", text.empty() ? "" : "; ", number.name, number.usual,
                            number.low, number.high, number.meaning);
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

/// "ratio=1.2", ... to the model's own numbers, in their order.
std::vector<double> numbers_of(const std::vector<std::string>& given, const PsfDescription& model) {
    std::vector<double> numbers;
    for (const PsfNumber& number : model.numbers) numbers.push_back(number.usual);
    for (const std::string& text : given) {
        const std::size_t equals = text.find('=');
        std::size_t k = 0;
        while (k < numbers.size() && model.numbers[k].name != text.substr(0, equals)) ++k;
        if (k == numbers.size())
            throw OptionError(fmt::format("`psf_number={}`: {} has {}", text, model.name,
                                          numbers.empty() ? "none" : own_numbers(model)));
        const char* from = text.c_str() + (equals == text.npos ? text.size() : equals + 1);
        char* end = nullptr;
        numbers[k] = std::strtod(from, &end);
        if (end == from || *end != '\0')
            throw OptionError(fmt::format("`psf_number={}`: expected as in {}={:g}", text, model.numbers[k].name,
                                          model.numbers[k].usual));
    }
    return numbers;
}

void add_calibration(const PsfFlags& flags, Psf& psf) {
    if (flags.calibration.empty())
        throw OptionError(
            fmt::format("{} needs the widths over z: --calibration CAL.toml, made by `glint calibrate "
                        "astigmatism BEADS.tif -o CAL.toml`",
                        name_of(psf.model)));
    psf.curve = read_astigmatic_curve(flags.calibration);
}

void add_sigma(const PsfFlags& flags, double pixel_size_nm, Psf& psf) {
    if (flags.sigma.empty())
        throw OptionError(fmt::format("{} needs the {}: --sigma 130nm or --sigma 1.3px (about 0.21 wavelength / NA)",
                                      name_of(psf.model),
                                      parameter_count(psf.model) == 4 ? "PSF's width" : "width to start from"));
    psf.sigma_um = to_nm(parse_length(flags.sigma, "`sigma`"), pixel_size_nm) / 1000;
}

}  // namespace

void add_psf_flags(CLI::App& app, PsfFlags& flags) {
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

std::string as_given(const PsfFlags& flags) {
    std::string text;
    if (!flags.model.empty() && flags.model != name_of(usual_model(flags))) text += " --psf " + flags.model;
    if (!flags.sigma.empty()) text += " --sigma " + shell_word(flags.sigma);
    if (!flags.calibration.empty()) text += " --calibration " + shell_file(flags.calibration);
    for (const std::string& number : flags.numbers) text += " --psf-number " + shell_word(number);
    return text;
}

void note_missing(const PsfFlags& flags, MissingOptions& missing) {
    const PsfModel model = model_of(flags);
    const bool calibrated = describe(model).calibrated;
    if (calibrated && flags.calibration.empty())
        missing.add("calibration", "--calibration CAL.toml",
                    "widths over z: `glint calibrate astigmatism BEADS.tif -o CAL.toml` measures them");
    if (!flags.sigma.empty() && flags.sigma != word_auto) parse_length(flags.sigma, "`sigma`");  // else it is repeated
    if (!calibrated && flags.sigma.empty())
        missing.add("sigma", "--sigma 130nm",
                    fmt::format("{}, a standard deviation: about 0.21 wavelength / NA; --sigma 1.3px works too",
                                parameter_count(model) == 4 ? "the PSF's width" : "the width to start from"));
}

Psf psf_of(const PsfFlags& flags, double pixel_size_nm) {
    Psf psf;
    psf.model = model_of(flags);
    const PsfDescription& model = describe(psf.model);
    model.calibrated ? add_calibration(flags, psf) : add_sigma(flags, pixel_size_nm, psf);
    psf.numbers = numbers_of(flags.numbers, model);
    return psf;
}

void add_fit_flags(CLI::App& app, FitOptions& options) {
    app.add_option("--max-iterations", options.max_iterations, "Iterations before a fit is given up, 1 to 255")
        ->capture_default_str()
        ->group("Fit");
    app.add_option("--tolerance", options.tolerance, "Converged when a step is below this fraction of the CRLB")
        ->capture_default_str()
        ->group("Fit");
}

}  // namespace glint::cli
