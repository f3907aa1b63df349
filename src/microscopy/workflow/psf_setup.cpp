// The PSF from what a user says.
// SPDX-License-Identifier: MIT
#include "workflow/psf_setup.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/camera/psf_table_file.hpp"

namespace glint {
namespace {

/// Returns the given model, else the default. Throws OptionError if widths are given that it does not use.
PsfModel model_of(const PsfSetup& given) {
    const PsfModel model = given.model.empty() ? usual_model(given) : parse_psf_model(given.model);
    if (describe(model).calibrated && !given.sigma.empty())
        throw OptionError(fmt::format(
            "`sigma={}` has no use with {}, whose widths over z `calibration` gives: leave `sigma` "
            "out{}",
            given.sigma, name_of(model), given.calibration.empty() ? "" : ", or for a fit in 2D `calibration`"));
    if (!describe(model).calibrated && !given.calibration.empty())
        throw OptionError(
            fmt::format("`calibration={}` gives widths over z, which {}, a fit in 2D, does not take: take "
                        "`psf=AstigmaticXYZNB`{}, or leave `calibration` out{}",
                        given.calibration, name_of(model), given.sigma.empty() ? "" : " without `sigma`",
                        given.sigma.empty() ? " and give `sigma`" : ""));
    return model;
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

void add_calibration(const PsfSetup& given, Psf& psf) {
    const bool has_table = describe(psf.model).has_table;
    if (given.calibration.empty() && has_table)
        throw OptionError(fmt::format(
            "{} needs its table of coefficients: `calibration=CAL.toml`, with a section [table]", name_of(psf.model)));
    if (given.calibration.empty())
        throw OptionError(
            fmt::format("{} needs the widths over z: `calibration=CAL.toml`, made by `glint calibrate "
                        "astigmatism BEADS.tif -o CAL.toml`",
                        name_of(psf.model)));
    if (has_table)
        psf.table = read_psf_table(given.calibration);
    else
        psf.curve = read_astigmatic_curve(given.calibration);
}

void add_sigma(const PsfSetup& given, double pixel_size_nm, Psf& psf) {
    if (given.sigma.empty())
        throw OptionError(fmt::format("{} needs the {}: `sigma=130nm` or `sigma=1.3px` (about 0.21 wavelength / NA)",
                                      name_of(psf.model),
                                      parameter_count(psf.model) == 4 ? "PSF's width" : "width to start from"));
    psf.sigma_nm = to_nm(parse_length(given.sigma, "`sigma`"), pixel_size_nm);
}

}  // namespace

PsfModel usual_model(const PsfSetup& given) {
    return given.calibration.empty() ? PsfModel::GaussianXYNB : PsfModel::AstigmaticXYZNB;
}

/// "ratio=1.5 (0.2 to 5), the width along y over that along x; ..."
std::string own_numbers(const PsfDescription& model) {
    std::string text;
    for (const PsfNumber& number : model.numbers)
        text += fmt::format("{}{}={:g} ({:g} to {:g}), {}", text.empty() ? "" : "; ", number.name, number.usual,
                            number.low, number.high, number.meaning);
    return text;
}

void note_missing(const PsfSetup& given, MissingOptions& missing) {
    const PsfModel model = model_of(given);
    const bool calibrated = describe(model).calibrated;
    if (calibrated && given.calibration.empty())
        missing.add("calibration", "`calibration=CAL.toml`",
                    describe(model).has_table
                        ? "the table of coefficients: a file with a section [table]"
                        : "widths over z: `glint calibrate astigmatism BEADS.tif -o CAL.toml` measures them");
    if (!given.sigma.empty() && given.sigma != word_auto) parse_length(given.sigma, "`sigma`");  // else it is repeated
    if (!calibrated && given.sigma.empty())
        missing.add("sigma", "`sigma=130nm`",
                    fmt::format("{}, a standard deviation: about 0.21 wavelength / NA; `sigma=1.3px` works too",
                                parameter_count(model) == 4 ? "the PSF's width" : "the width to start from"));
}

Psf psf_of(const PsfSetup& given, double pixel_size_nm) {
    Psf psf;
    psf.model = model_of(given);
    const PsfDescription& model = describe(psf.model);
    model.calibrated ? add_calibration(given, psf) : add_sigma(given, pixel_size_nm, psf);
    psf.numbers = numbers_of(given.numbers, model);
    return psf;
}

std::vector<std::filesystem::path> files_of(const PsfSetup& given) {
    if (given.calibration.empty()) return {};
    std::vector<std::filesystem::path> files{given.calibration};
    if (describe(model_of(given)).has_table) files.push_back(coefficients_file(given.calibration));
    return files;
}

}  // namespace glint
