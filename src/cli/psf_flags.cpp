// The PSF from the command line.
// SPDX-License-Identifier: MIT
#include "cli/psf_flags.hpp"

#include <fmt/format.h>

#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"

namespace glint::cli {
namespace {

PsfModel model_of(const PsfFlags& flags) {
    if (!flags.model.empty()) return parse_psf_model(flags.model);
    return flags.calibration.empty() ? PsfModel::GaussianXYNB : PsfModel::AstigmaticXYZNB;
}

Psf astigmatic(const PsfFlags& flags) {
    if (flags.calibration.empty())
        throw OptionError(
            "AstigmaticXYZNB needs the widths over z: --calibration CAL.toml, made by `glint calibrate "
            "astigmatism BEADS.tif -o CAL.toml`");
    if (!flags.sigma.empty())
        throw OptionError("--sigma has no use with AstigmaticXYZNB: the widths come from --calibration");
    Psf psf;
    psf.model = PsfModel::AstigmaticXYZNB;
    psf.curve = read_astigmatic_curve(flags.calibration);
    return psf;
}

}  // namespace

void add_psf_flags(CLI::App& app, PsfFlags& flags) {
    const std::string group = "Spots";
    app.add_option(
           "--psf", flags.model,
           "GaussianXYNB (width fixed; the default), GaussianXYNBS (one free width), GaussianXYNBSXSY (two free "
           "widths), AstigmaticXYZNB (z; the default with --calibration)")
        ->group(group);
    app.add_option("--sigma", flags.sigma,
                   "Standard deviation of the PSF, with unit: 130nm, 0.13um, 1.3px (free widths: where they start). No "
                   "default; about 0.21 wavelength / NA")
        ->group(group);
    app.add_option("--calibration", flags.calibration, "Widths over z, from `glint calibrate astigmatism`")
        ->group(group);
}

Psf psf_of(const PsfFlags& flags, double pixel_size_nm) {
    const PsfModel model = model_of(flags);
    if (model == PsfModel::AstigmaticXYZNB) return astigmatic(flags);
    if (!flags.calibration.empty())
        throw OptionError(fmt::format("--calibration has no use with {}: take --psf AstigmaticXYZNB", name_of(model)));
    if (flags.sigma.empty())
        throw OptionError(fmt::format("{} needs the {}: --sigma 130nm or --sigma 1.3px (about 0.21 wavelength / NA)",
                                      name_of(model),
                                      model == PsfModel::GaussianXYNB ? "PSF's width" : "width to start from"));
    Psf psf;
    psf.model = model;
    psf.sigma_um = to_nm(parse_length(flags.sigma, "--sigma"), pixel_size_nm) / 1000;
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
