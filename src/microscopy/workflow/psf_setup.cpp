// Creates the PSF from the user's values.
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

/// Returns the file from which the PSF is read; empty if there is none.
const std::string& find_file(const PsfSetup& given) { return is_lens_file(given) ? given.model : given.calibration; }

std::shared_ptr<const PsfTable> read_table(const PsfSetup& given, double pixel_size_nm) {
    return read_psf_table(find_file(given), pixel_size_nm, int(given.channel.value_or(0)));
}

/// Returns the table of a measured PSF; null if the pixel size is not in the file.
std::shared_ptr<const PsfTable> find_table(const PsfSetup& given) {
    try {
        return read_table(given, 0);
    } catch (const OptionError&) {
        return nullptr;
    }
}

/// Throws OptionError if widths are given, because a measured PSF contains its widths.
PsfModel check_lens_file(const PsfSetup& given) {
    if (!given.calibration.empty() || !given.sigma.empty())
        throw OptionError(fmt::format("`psf={}` is a measured PSF, which contains its widths: leave {} out",
                                      given.model, given.calibration.empty() ? "`sigma`" : "`calibration`"));
    const std::shared_ptr<const PsfTable> table = find_table(given);
    return table ? measured_psf(table).model : PsfModel::SplineXYZNB;  // only glint's own files, which state it, are 2D
}

/// Returns the given model, else the default. Throws OptionError if widths are given that the model does not use.
PsfModel model_of(const PsfSetup& given) {
    if (is_lens_file(given)) return check_lens_file(given);
    if (given.model == word_auto) {
        if (!given.calibration.empty() || !given.numbers.empty() || given.channel)
            throw OptionError(fmt::format("`psf=auto` estimates the PSF from the movie: leave {} out",
                                          !given.calibration.empty() ? "`calibration`"
                                          : given.channel            ? "`psf_channel`"
                                                                     : "`psf_number`"));
        return PsfModel::SplineXYNB;
    }
    if (given.channel && given.calibration.empty())
        throw OptionError(
            fmt::format("`psf_channel={}` chooses a PSF of a measured PSF's file: give `psf=lens.h5` too, or leave it "
                        "out",
                        *given.channel));
    const PsfModel model = given.model.empty() ? default_model(given) : parse_psf_model(given.model);
    if (describe(model).calibrated && !given.sigma.empty())
        throw OptionError(fmt::format(
            "`sigma={}` has no use with {}, whose widths over z `calibration` gives: leave `sigma` "
            "out{}",
            given.sigma, to_name(model), given.calibration.empty() ? "" : ", or for a fit in 2D `calibration`"));
    if (!describe(model).calibrated && !given.calibration.empty())
        throw OptionError(
            fmt::format("`calibration={}` gives widths over z, which {}, a fit in 2D, does not take: take "
                        "`psf=AstigmaticXYZNB`{}, or leave `calibration` out{}",
                        given.calibration, to_name(model), given.sigma.empty() ? "" : " without `sigma`",
                        given.sigma.empty() ? " and give `sigma`" : ""));
    return model;
}

/// Converts "ratio=1.2", ... to the model's own numbers, in their order.
std::vector<double> numbers_of(const std::vector<std::string>& given, const PsfDescription& model) {
    std::vector<double> numbers;
    for (const ModelParameter& number : model.numbers) numbers.push_back(number.default_value);
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
                                          model.numbers[k].default_value));
    }
    return numbers;
}

void add_calibration(const PsfSetup& given, double pixel_size_nm, Psf& psf) {
    const bool has_table = describe(psf.model).has_table;
    const std::string& file = find_file(given);
    if (given.model == word_auto) {
        if (!given.estimated)
            throw OptionError(
                "`psf=auto` estimates the PSF from a movie, and there is none here: estimate it before, by `glint "
                "calibrate psf-2d MOVIE -o psf.h5`, and give `psf=psf.h5`");
        psf.table = given.estimated;
        return;
    }
    if (file.empty() && has_table)
        throw OptionError(fmt::format(
            "{0} needs its coefficients: `psf=lens.h5`, made by `glint calibrate psf BEADS.tif -o lens.h5`, or "
            "`calibration=CAL.toml`, with a section [table]",
            to_name(psf.model)));
    if (file.empty())
        throw OptionError(
            fmt::format("{} needs the widths over z: `calibration=CAL.toml`, made by `glint calibrate "
                        "astigmatism BEADS.tif -o CAL.toml`",
                        to_name(psf.model)));
    if (has_table)
        psf.table = read_table(given, pixel_size_nm);
    else
        psf.curve = read_astigmatic_curve(file);
}

void add_sigma(const PsfSetup& given, double pixel_size_nm, Psf& psf) {
    if (given.sigma.empty())
        throw OptionError(fmt::format("{} needs the {}: `sigma=130nm` or `sigma=1.3px` (about 0.21 wavelength / NA)",
                                      to_name(psf.model),
                                      parameter_count(psf.model) == 4 ? "PSF's width" : "width to start from"));
    psf.sigma_nm = to_nm(parse_length(given.sigma, "`sigma`"), pixel_size_nm);
}

}  // namespace

// No model's name contains a dot or a slash.
bool is_lens_file(const PsfSetup& given) { return given.model.find_first_of("./\\") != std::string::npos; }

double find_pixel_size_nm(const PsfSetup& given) {
    const std::string& file = find_file(given);
    if (file.empty() || !describe(model_of(given)).has_table) return 0;
    const std::shared_ptr<const PsfTable> table = find_table(given);
    return table ? table->scale().pixel_size_nm : 0;
}

std::string find_file_name(const PsfSetup& given) {
    const std::string& file = find_file(given);
    return file.empty() || !describe(model_of(given)).has_table ? "" : std::filesystem::path(file).filename().string();
}

PsfModel default_model(const PsfSetup& given) {
    return given.calibration.empty() ? PsfModel::GaussianXYNB : PsfModel::AstigmaticXYZNB;
}

bool needs_width(const PsfSetup& given) {
    if (is_lens_file(given) || given.model == word_auto || !given.calibration.empty()) return false;
    return given.model.empty() || !describe(parse_psf_model(given.model)).calibrated;
}

/// Returns a text such as "ratio=1.5 (0.2 to 5), the width along y over that along x; ..."
std::string own_numbers(const PsfDescription& model) {
    std::string text;
    for (const ModelParameter& number : model.numbers)
        text += fmt::format("{}{}={:g} ({:g} to {:g}), {}", text.empty() ? "" : "; ", number.name, number.default_value,
                            number.min, number.max, number.description);
    return text;
}

void note_missing(const PsfSetup& given, MissingOptions& missing) {
    const PsfModel model = model_of(given);
    const bool calibrated = describe(model).calibrated;
    if (calibrated && find_file(given).empty() && given.model != word_auto)
        missing.add("calibration", "`calibration=CAL.toml`",
                    describe(model).has_table
                        ? "the table of coefficients: a file of a measured PSF, or one with a section [table]"
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
    model.calibrated ? add_calibration(given, pixel_size_nm, psf) : add_sigma(given, pixel_size_nm, psf);
    psf.numbers = numbers_of(given.numbers, model);
    return psf;
}

std::vector<std::filesystem::path> files_of(const PsfSetup& given) {
    const std::string& file = find_file(given);
    if (file.empty()) return {};
    std::vector<std::filesystem::path> files{file};
    if (describe(model_of(given)).has_table && coefficients_file(file) != file)
        files.push_back(coefficients_file(file));
    return files;
}

}  // namespace glint
