// SPDX-License-Identifier: MIT
#include "cli/flags/pupil_flags.hpp"

#include <fmt/format.h>

#include <charconv>

#include "cli/flags/choices.hpp"
#include "cli/flags/psf_flags.hpp"
#include "cli/spelling.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"

namespace glint::cli {
namespace {

ZernikeTerm parse_zernike_term(const std::string& text) {
    const std::size_t equals = text.find('=');
    const char* example = "expected NAME=RADIANS, as in --zernike coma_x=0.3";
    if (equals == text.npos) throw OptionError(fmt::format("--zernike {}: {}", text, example));
    ZernikeTerm term{parse_zernike(text.substr(0, equals)), 0};
    const char *from = text.data() + equals + 1, *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(from, end, term.rad_rms);
    if (error != std::errc() || rest != end) throw OptionError(fmt::format("--zernike {}: {}", text, example));
    return term;
}

}  // namespace

double parse_optical_nm(const std::string& text, const char* flag, const char* example) {
    const Length length = parse_length(text, flag, example);
    if (length.unit == Length::Unit::pixel)
        throw OptionError(fmt::format("{} {}: give nm or um, as in {} {}", flag, text, flag, example));
    return length.value;
}

void add_pupil_flags(CLI::App& app, PupilFlags& flags) {
    const std::string group = "Computed PSF";
    app.add_option("--na", flags.na,
                   "Numerical aperture: computes the PSF of an objective by diffraction. Instead of --psf, --sigma and "
                   "--calibration")
        ->group(group);
    app.add_option("--wavelength", flags.wavelength, "Wavelength of the light in vacuum, with unit: 670nm")
        ->group(group);
    app.add_option("--immersion-index", flags.immersion_index, "Refractive index of the immersion (default: 1.518)")
        ->group(group);
    app.add_option("--sample-index", flags.sample_index,
                   "Refractive index of the sample, such as 1.33 (default: that of the immersion)")
        ->group(group);
    app.add_option("--depth", flags.depth,
                   "Height of the plane z = 0 above the coverslip, with unit (default: 0nm). It matters if the indices "
                   "differ")
        ->group(group);
    std::vector<std::string> names;
    std::string list;
    for (const std::string_view name : zernike_names()) {
        names.push_back(std::string(name) + "=");
        list += (list.empty() ? "" : ", ") + std::string(name);
    }
    offer_words(app.add_option("--zernike", flags.zernike,
                               "NAME=RADIANS, an aberration and its rms phase: " + list +
                                   ", or Noll's number, 4 to 66; can be repeated")
                    ->group(group),
                names);
}

std::optional<Pupil> find_pupil(const PupilFlags& flags, const PsfSetup& psf) {
    if (!flags.na) {
        if (const std::string given = as_given(flags); !given.empty())
            throw OptionError(fmt::format("{} describes an objective: give --na too, as in --na 1.4", given.substr(1)));
        return std::nullopt;
    }
    if (const std::string given = as_given(psf); !given.empty())
        throw OptionError(fmt::format("--na {:g} computes the PSF: leave{} out, or leave --na out", *flags.na, given));
    if (flags.wavelength.empty())
        throw OptionError(fmt::format("--na {:g} needs the wavelength: --wavelength 670nm", *flags.na));
    Pupil pupil;
    pupil.na = *flags.na;
    pupil.wavelength_nm = parse_optical_nm(flags.wavelength, "--wavelength", "670nm");
    pupil.immersion_index = flags.immersion_index.value_or(pupil.immersion_index);
    pupil.sample_index = flags.sample_index.value_or(pupil.immersion_index);
    if (!flags.depth.empty() && flags.depth != "0" && flags.depth != "0nm")
        pupil.depth_nm = parse_optical_nm(flags.depth, "--depth", "500nm");
    for (const std::string& text : flags.zernike) pupil.zernike.push_back(parse_zernike_term(text));
    return pupil;
}

std::string as_given(const PupilFlags& flags) {
    std::string text;
    if (flags.na) text += fmt::format(" --na {}", *flags.na);
    if (!flags.wavelength.empty()) text += " --wavelength " + shell_word(flags.wavelength);
    if (flags.immersion_index) text += fmt::format(" --immersion-index {}", *flags.immersion_index);
    if (flags.sample_index) text += fmt::format(" --sample-index {}", *flags.sample_index);
    if (!flags.depth.empty()) text += " --depth " + shell_word(flags.depth);
    for (const std::string& term : flags.zernike) text += " --zernike " + shell_word(term);
    return text;
}

}  // namespace glint::cli
