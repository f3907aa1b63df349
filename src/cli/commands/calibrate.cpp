// `glint calibrate astigmatism`: measures widths over z in a stack of beads.
// SPDX-License-Identifier: MIT
#include "glint/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "base/micrometres.hpp"
#include "cli/command.hpp"
#include "cli/commands/calibrate_camera.hpp"
#include "cli/commands/calibrate_psf.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/spelling.hpp"
#include "data/camera_of_movie.hpp"
#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "glint/picture_io.hpp"
#include "glint/render.hpp"
#include "glint/units.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/write_into.hpp"
#include "psf/curve_in_um.hpp"

namespace glint::cli {
namespace {

constexpr const char* calibrate_footer = R"(
Examples:
  glint calibrate astigmatism beads.tif -o cal.toml --z-step 10nm --camera camera.toml
  glint calibrate astigmatism beads.tif -o cal.toml --plot cal.png --z-step 25nm \
      --pixel-size 100nm --offset 100 --gain 0.5

BEADS has one slice per frame, in equal steps of z. The widths of every bead are fitted freely in
each slice. The curve of Huang et al. (2008) is fitted to their medians. It covers the largest range
of z around the foci in which it shifts z by at most 20 nm. A stack that cannot give z is refused
with the reason: no beads, a double helix, no astigmatism, widths that do not cross, or a lens whose
axes are rotated relative to the pixels.

Use the result with `glint localize --calibration cal.toml`. Widths, and so z, depend on the size of
the fitted window: localize uses that of the calibration, which --roi sets here. In crowded movies
use a smaller window, such as --roi 9.)";

struct CalibrateFlags {
    std::string beads, out, plot, z_step, z_center, sigma;
    bool descending = false, overwrite = false;
    int roi_size = 0;
    MovieChoice choice;
    CameraSetup camera;
    ConsoleFlags console;
};

Length z_step_of(const CalibrateFlags& flags) { return parse_length(flags.z_step, "--z-step", "10nm or 0.01um"); }

CalibrateOptions options_of(const CalibrateFlags& flags, double pixel_size_nm) {
    CalibrateOptions options;
    options.pixel_size_nm = pixel_size_nm;
    options.z_step_nm = to_nm(z_step_of(flags), pixel_size_nm) * (flags.descending ? -1 : 1);
    options.z_center_nm = parse_signed_nm(flags.z_center, "--z-center", pixel_size_nm);
    if (!flags.sigma.empty()) options.sigma_nm = to_nm(parse_length(flags.sigma, "--sigma"), pixel_size_nm);
    options.roi_size = flags.roi_size;
    return options;
}

void print_result(const Calibration& calibration, const CalibrateFlags& flags) {
    const CurveInUm c = in_um(calibration.curve);
    const double z_middle_um = nm_to_um(calibration.z_middle_nm);
    const double rms_residual_um = nm_to_um(calibration.rms_residual_nm);
    if (flags.console.json)
        return print_json({{"output", flags.out},
                           {"beads", calibration.beads},
                           {"rms_residual_um", rms_residual_um},
                           {"max_z_bias_um", nm_to_um(calibration.max_z_bias_nm)},
                           {"rms_z_bias_um", nm_to_um(calibration.rms_z_bias_nm)},
                           {"stack_z_min_um", nm_to_um(calibration.stack_z_min_nm)},
                           {"stack_z_max_um", nm_to_um(calibration.stack_z_max_nm)},
                           {"range_note", range_note(calibration)},
                           {"z_middle_um", z_middle_um},
                           {"sx0_um", c.sx0_um},
                           {"sy0_um", c.sy0_um},
                           {"gamma_um", c.gamma_um},
                           {"d_um", c.d_um},
                           {"ax", c.ax},
                           {"bx", c.bx},
                           {"ay", c.ay},
                           {"by", c.by},
                           {"z_min_um", c.z_min_um},
                           {"z_max_um", c.z_max_um},
                           {"roi_px", c.roi_size},
                           {"pixel_size_um", c.pixel_size_um}});
    const std::string trimmed = range_note(calibration);
    Summary summary;
    summary.add("beads", with_commas(calibration.beads))
        .add("widths in focus", fmt::format("x {:.4f}, y {:.4f} um", c.sx0_um, c.sy0_um))
        .add("foci at", fmt::format("x {:.4f}, y {:.4f} um; depth {:.4f} um", c.gamma_um, -c.gamma_um, c.d_um))
        .add("z range", fmt::format("{:.3f} to {:.3f} um", c.z_min_um, c.z_max_um));
    if (!trimmed.empty()) summary.add("trimmed", trimmed);
    summary.add("z = 0 at", fmt::format("{:.3f} um of the stage", z_middle_um))
        .add("window", fmt::format("{} px; `localize` uses the same", c.roi_size))
        .add("curve error", fmt::format("{:.4f} um rms; {:.0f} nm of z, at most {:.0f} nm", rms_residual_um,
                                        calibration.rms_z_bias_nm, calibration.max_z_bias_nm))
        .add("written", flags.out)
        .print();
}

/// Commits both files together, so that a new curve is never beside the plot of an old one.
void write_with_plot(const Calibration& calibration, const CalibrateFlags& flags, IfExists if_exists) {
    repair_pair(without_link(flags.plot), without_link(flags.out));
    AtomicFile picture(flags.plot, if_exists), curve(flags.out, if_exists);
    write_png(picture, plot(calibration));
    write_astigmatic_curve(curve, calibration.curve, range_note(calibration));
    commit_together(picture, curve);
}

int run(const CalibrateFlags& flags) {
    require_toml(flags.out);
    z_step_of(flags);  // checked before an error message repeats it
    const std::unique_ptr<Movie> stack = open_movie(flags.beads, flags.choice);
    const std::string example =
        fmt::format("glint calibrate astigmatism {} -o {} --z-step {}{}", shell_file(flags.beads),
                    shell_file(flags.out), flags.z_step, as_given(flags.choice) + as_given(flags.camera));
    MissingOptions missing;
    const CameraFacts facts = camera_facts(flags.camera, stack->info(), missing);
    missing.require(stack->info().name, example);
    Paths inputs = stack->info().files, outputs{flags.out};
    inputs.insert(inputs.end(), facts.files.begin(), facts.files.end());
    if (!flags.plot.empty()) outputs.push_back(flags.plot);
    const IfExists existing = if_exists(flags.overwrite);
    check_outputs(outputs, existing, inputs);
    Console console(flags.console);
    for (const std::string& warning : stack->info().warnings) console.warn(warning);
    if (const std::string other = pixel_size_contradiction(stack->info(), facts.pixel_size_nm); !other.empty())
        console.warn(other);
    console.notice(fmt::format("{}: {} slices; {}", flags.beads, stack->info().frames, facts.sources));
    const Calibration calibration = calibrate_astigmatism(*stack, facts.camera, options_of(flags, facts.pixel_size_nm));
    if (const std::string warning = depth_warning(calibration.curve); !warning.empty())
        console.warn(fmt::format("{}: {}", flags.beads, warning));
    if (const std::string warning = misfit_warning(calibration); !warning.empty())
        console.warn(fmt::format("{}: {}", flags.beads, warning));
    if (flags.plot.empty())
        write_astigmatic_curve(flags.out, calibration.curve, existing, range_note(calibration));
    else
        write_with_plot(calibration, flags, existing);
    print_result(calibration, flags);
    return exit_ok;
}

}  // namespace

Command add_calibrate(CLI::App& program) {
    const auto flags = std::make_shared<CalibrateFlags>();
    CLI::App* group = program.add_subcommand("calibrate", "Calibrates a camera, or measures a PSF (3D)");
    group->require_subcommand(1);
    CLI::App* app = group->add_subcommand("astigmatism", "Measures PSF widths over z in a stack of beads");
    offer_files(app->add_option("beads", flags->beads, "Stack of beads, one slice per frame")->required(),
                offered_movie_endings());
    offer_files(app->add_option("-o,--output", flags->out, "Calibration to write, .toml")->required(), toml_endings);
    offer_files(app->add_option("--plot", flags->plot, "Also draw the data and the curve into this PNG"), {".png"});
    app->add_option("--z-step", flags->z_step, "Distance between slices, with unit: 10nm")->required();
    app->add_flag("--descending", flags->descending, "z decreases from slice to slice");
    app->add_option("--z-center", flags->z_center, "z of the middle slice, with unit (default: 0nm)");
    app->add_option("--sigma", flags->sigma,
                    "Approximate PSF width, used to find the beads, with unit (default: 1.3px)");
    app->add_option("--roi,--roi-size", flags->roi_size, "Edge of the fitted window, px (default: from the width)")
        ->check(CLI::Range(min_roi_size, max_roi_size));
    add_movie_flags(*app, flags->choice);
    add_camera_flags(*app, flags->camera);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(calibrate_footer);
    const std::vector<Command> others{add_calibrate_camera(*group), add_calibrate_psf(*group),
                                      add_calibrate_psf_2d(*group), add_calibrate_psf_in_situ(*group)};
    return {group, [=] {
                for (const Command& other : others)
                    if (other.app->parsed()) return other.run();
                return run(*flags);
            }};
}

}  // namespace glint::cli
