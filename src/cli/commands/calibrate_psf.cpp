// `glint calibrate psf`: measures a PSF of any shape in stacks of beads.
// SPDX-License-Identifier: MIT
#include "cli/commands/calibrate_psf.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/plotting.hpp"
#include "cli/process.hpp"
#include "cli/spelling.hpp"
#include "data/camera_of_movie.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "glint/psf_io.hpp"
#include "glint/units.hpp"
#include "glint/version.hpp"
#include "workflow/to_lens.hpp"

namespace glint::cli {
namespace {

constexpr const char* calibrate_psf_footer = R"(
Examples:
  glint calibrate psf beads.tif -o lens.h5 --z-step 10nm --pixel-size 100nm --offset 100 --gain 0.5
  glint calibrate psf field1.tif field2.tif -o lens.h5 --plot lens.png --z-step 25nm --camera camera.toml
  glint localize movie.tif -o locs.hdf5 --psf lens.h5 --camera camera.toml

Measures the PSF of any lens: astigmatic, tilted against the pixels, double helix, tetrapod. Each frame
of a stack is one slice, in equal steps of z. The z planes of a file with one time are its slices. If a
file has several channels or positions, choose one: --channel, --position. glint finds the beads and
learns one PSF from all of them. It then tests the PSF on beads that it did not learn from, and prints
the errors of z.

With --field, the PSF may change over the field of view. Beads must lie all over it, in several stacks
if there are few in one. glint tests whether beads that it did not learn from are described better. If
so, the file has a grid of PSFs, and each molecule is fitted with that of its place.

Use at least five isolated beads at different positions within their pixels. A stack that was recorded
in the opposite direction gives a mirrored z: check the sign, and use --descending if needed.

Any command that fits accepts the result: `--psf lens.h5`. It needs no --sigma and no --calibration.)";

const std::vector<std::string> lens_endings{".h5", ".hdf5"};

struct CalibratePsfFlags {
    std::vector<std::string> beads;
    std::string out, plot, z_step, z_center;
    double z_scale = 1;
    bool descending = false, overwrite = false, field = false;
    int roi_size = 0;
    MovieChoice choice;
    CameraSetup camera;
    ConsoleFlags console;
};

Length parse_z_step(const CalibratePsfFlags& flags) { return parse_length(flags.z_step, "--z-step", "10nm or 0.01um"); }

void check_flags(const CalibratePsfFlags& flags) {
    const std::string ending = lower_extension(flags.out);
    if (std::find(lens_endings.begin(), lens_endings.end(), ending) == lens_endings.end())
        throw OptionError(fmt::format("--output {}: give a name that ends in .h5, as in -o lens.h5", flags.out));
    parse_z_step(flags);
    check_plot(flags.plot);
}

std::vector<std::unique_ptr<Movie>> open_stacks(const std::vector<std::string>& names, const MovieChoice& choice,
                                                const std::string& region) {
    std::vector<std::unique_ptr<Movie>> stacks;
    for (std::size_t k = 0; k < names.size(); ++k) {
        if (std::find(names.begin() + std::ptrdiff_t(k) + 1, names.end(), names[k]) != names.end())
            throw OptionError(fmt::format("{} is given twice: give each stack of beads once", names[k]));
        stacks.push_back(open_movie(names[k], choice));
        if (!region.empty()) stacks.back() = crop_movie(std::move(stacks.back()), parse_pixel_region(region));
    }
    return stacks;
}

/// How many beads were rejected for each reason: "2 near the edge, 1 saturated".
std::string list_rejections(const PsfCalibration& calibration) {
    std::map<std::string, int> reasons;
    for (const PsfBead& bead : calibration.beads)
        if (!bead.rejected.empty()) ++reasons[bead.rejected];
    std::string text;
    for (const auto& [reason, count] : reasons)
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", count, reason);
    return text;
}

std::int64_t count_used(const PsfCalibration& calibration) {
    return std::count_if(calibration.beads.begin(), calibration.beads.end(),
                         [](const PsfBead& bead) { return bead.rejected.empty(); });
}

nlohmann::ordered_json to_json(const PsfCalibration& c, const CalibratePsfFlags& flags) {
    nlohmann::ordered_json json{{"output", flags.out},      {"beads_used", count_used(c)},
                                {"z_min_nm", c.z_min_nm},   {"z_max_nm", c.z_max_nm},
                                {"z_slope", c.z_slope},     {"z_rms_nm", c.z_rms_nm},
                                {"z_crlb_nm", c.z_crlb_nm}, {"deviance", c.deviance},
                                {"p_above_0.01", c.good_p}, {"x_tilt", c.x_tilt},
                                {"y_tilt", c.y_tilt},       {"roi_px", c.roi_size},
                                {"knot_nm", c.knot_nm},     {"samples_per_px", c.table->scale().samples_per_px},
                                {"warnings", c.warnings}};
    if (c.field) {
        const PsfField& cells = c.table->field();
        json["field"] = {{"cells_x", cells.cells_x},
                         {"cells_y", cells.cells_y},
                         {"cell_px", cells.cell_px},
                         {"left_px", cells.left_px},
                         {"top_px", cells.top_px},
                         {"degree", c.field->degree},
                         {"gain", c.field->gain},
                         {"gain_error", c.field->gain_error},
                         {"p_above_0.01_of_one", c.field->good_p_of_one},
                         {"p_above_0.01", c.field->good_p},
                         {"cell_error_nm", c.field->cell_error_nm}};
    }
    if (c.gaussian)
        json["gaussian"] = {{"suffices", c.gaussian->suffices},
                            {"wrong", c.gaussian->wrong},
                            {"z_rms_nm", c.gaussian->z_rms_nm},
                            {"deviance", c.gaussian->deviance},
                            {"p_above_0.01", c.gaussian->good_p},
                            {"added_deviance", c.gaussian->added_deviance},
                            {"added_deviance_error", c.gaussian->added_deviance_error}};
    for (const PsfBead& bead : c.beads)
        json["beads"].push_back({{"stack", flags.beads[bead.file]},
                                 {"x_px", bead.x_px},
                                 {"y_px", bead.y_px},
                                 {"z_nm", bead.z_nm},
                                 {"photons", bead.photons},
                                 {"misfit", bead.misfit},
                                 {"rejected", bead.rejected}});
    for (const PsfSliceError& s : c.slices)
        json["errors"].push_back({{"z_nm", s.z_nm},
                                  {"fits", s.fits},
                                  {"wrong", s.wrong},
                                  {"z_bias_nm", s.z_bias_nm},
                                  {"z_rms_nm", s.z_rms_nm},
                                  {"z_crlb_nm", s.z_crlb_nm},
                                  {"x_bias_nm", s.x_bias_nm},
                                  {"y_bias_nm", s.y_bias_nm},
                                  {"deviance", s.deviance},
                                  {"p_above_0.01", s.good_p}});
    return json;
}

std::string describe_gaussian(const PsfGaussianErrors& g) {
    return fmt::format("z error {:.1f} nm rms; {:.1f} % have p > 0.01; deviance {:.3g} per degree of freedom",
                       g.z_rms_nm, 100 * g.good_p, g.deviance);
}

std::string describe_field(const PsfCalibration& c) {
    const PsfFieldFit& field = *c.field;
    const PsfField& cells = c.table->field();
    if (field.degree == 0)
        return fmt::format(
            "one PSF describes beads that were left out as well: a plane over the field changes their deviance by "
            "{:.2g} "
            "+- {:.2g} per slice",
            -field.gain, field.gain_error);
    return fmt::format(
        "{} x {} cells of {:.1f} px, from polynomials of degree {}; deviance lower by {:.2g} +- {:.2g} per slice; "
        "{:.1f} % have p > 0.01, {:.1f} % with one PSF; nearest cell within {:.1f} nm",
        cells.cells_x, cells.cells_y, cells.cell_px, field.degree, field.gain, field.gain_error, 100 * field.good_p,
        100 * field.good_p_of_one, field.cell_error_nm);
}

void print_result(const PsfCalibration& c, const CalibratePsfFlags& flags, const std::string& plot) {
    if (flags.console.json) return print_json(to_json(c, flags));
    const int samples = c.table->scale().samples_per_px;
    Summary summary;
    summary.add("beads", with_commas(count_used(c)));
    if (const std::string rejections = list_rejections(c); !rejections.empty()) summary.add("rejected", rejections);
    summary.add("z range", fmt::format("{:.0f} to {:.0f} nm", c.z_min_nm, c.z_max_nm))
        .add("z error", fmt::format("{:.1f} nm rms (CRLB {:.1f} nm), slope {:.3f}", c.z_rms_nm, c.z_crlb_nm, c.z_slope))
        .add("good fits",
             fmt::format("{:.1f} % have p > 0.01; deviance {:.2f} per degree of freedom", 100 * c.good_p, c.deviance))
        .add("sideways", fmt::format("{:.0f} nm per um of z (x {:.0f}, y {:.0f})",
                                     1000 * std::hypot(c.x_tilt, c.y_tilt), 1000 * c.x_tilt, 1000 * c.y_tilt))
        .add("tested on", c.judged_by_slices ? "every second slice of the one bead" : "beads that were left out");
    if (c.field) summary.add("field", describe_field(c));
    if (c.gaussian) summary.add("Gaussian", describe_gaussian(*c.gaussian));
    summary
        .add("window", fmt::format("{} px, {} coefficient{} per pixel, {:.0f} nm along z", c.roi_size, samples,
                                   samples == 1 ? "" : "s", c.knot_nm))
        .add("written", flags.out);
    if (!plot.empty()) summary.add("plot", plot);
    summary.print();
}

/// Empty if it is not.
std::string note_gaussian(const PsfCalibration& c) {
    if (!c.gaussian || !c.gaussian->suffices) return {};
    return fmt::format(
        "an astigmatic Gaussian describes the beads as well: its deviance differs by {:.2g} +- {:.2g} per slice, and "
        "its z error is {:.1f} nm rms. `glint calibrate astigmatism` suffices for this lens",
        c.gaussian->added_deviance, c.gaussian->added_deviance_error, c.gaussian->z_rms_nm);
}

std::string describe_origin(const PsfCalibration& c, const CalibratePsfFlags& flags) {
    return fmt::format("glint {} calibrate psf, {} bead{} of {}, --z-step {}{}, --z-scale {}{}", version(),
                       count_used(c), count_used(c) == 1 ? "" : "s", fmt::join(flags.beads, ", "), flags.z_step,
                       flags.descending ? " --descending" : "", flags.z_scale, flags.field ? " --field" : "");
}

int run(const CalibratePsfFlags& flags) {
    const StopFlag& stop = stop_on_signals();
    check_flags(flags);
    const std::vector<std::unique_ptr<Movie>> stacks = open_stacks(flags.beads, flags.choice, flags.camera.region);
    std::string names;
    for (const std::string& name : flags.beads) names += " " + shell_file(name);
    MissingOptions missing;
    const CameraFacts facts = camera_facts(flags.camera, stacks.front()->info(), missing);
    missing.require(stacks.front()->info().name,
                    fmt::format("glint calibrate psf{} -o {} --z-step {}{}", names, shell_file(flags.out), flags.z_step,
                                as_given(flags.choice) + as_given(flags.camera)));
    Paths inputs = facts.files, outputs{flags.out};
    if (!flags.plot.empty()) outputs.push_back(flags.plot);
    Console console(flags.console);
    std::vector<Movie*> movies;
    for (const auto& stack : stacks) {
        movies.push_back(stack.get());
        inputs.insert(inputs.end(), stack->info().files.begin(), stack->info().files.end());
        for (const std::string& warning : stack->info().warnings) console.warn(warning);
        if (const std::string other = pixel_size_contradiction(stack->info(), facts.pixel_size_nm); !other.empty())
            console.warn(other);
    }
    const IfExists existing = if_exists(flags.overwrite);
    check_outputs(outputs, existing, inputs);
    console.notice(
        fmt::format("{}: {} slices; {}", fmt::join(flags.beads, ", "), stacks.front()->info().frames, facts.sources));
    CalibratePsfOptions options;
    options.pixel_size_nm = facts.pixel_size_nm;
    options.z_step_nm = to_nm(parse_z_step(flags), facts.pixel_size_nm) * (flags.descending ? -1 : 1);
    options.z_center_nm = parse_signed_nm(flags.z_center, "--z-center", facts.pixel_size_nm);
    options.roi_size = flags.roi_size, options.z_scale = flags.z_scale, options.field = flags.field;
    const PixelRegion region = flags.camera.region.empty() ? PixelRegion{} : parse_pixel_region(flags.camera.region);
    const auto [field_x_px, field_y_px] = find_field_place(facts.camera, region);
    options.field_x_px = field_x_px, options.field_y_px = field_y_px;
    options.progress = console.progress("learning", "steps");
    options.stop = &stop;
    PsfCalibration calibration;
    try {
        calibration = calibrate_psf(movies, facts.camera, options);
    } catch (const Cancelled&) {
        console.end_progress();
        console.warn("stopped: nothing was written");
        return exit_interrupted;
    }
    console.end_progress();
    for (const std::string& warning : calibration.warnings) console.warn(warning);
    if (const std::string note = note_gaussian(calibration); !note.empty()) console.notice(note);
    write_lens(flags.out, to_lens(calibration, describe_origin(calibration, flags)), existing);
    print_result(calibration, flags,
                 flags.plot.empty() ? ""
                                    : draw_plot(psf_figure(calibration), flags.plot, if_exists(flags.overwrite),
                                                "The measured PSF", console));
    return exit_ok;
}

}  // namespace

double parse_signed_nm(const std::string& text, const char* what, double pixel_size_nm) {
    if (text.empty() || text == "0" || text == "0nm") return 0;
    const bool minus = text.front() == '-';
    const double nm = to_nm(parse_length(std::string_view(text).substr(minus ? 1 : 0), what), pixel_size_nm);
    return minus ? -nm : nm;
}

Command add_calibrate_psf(CLI::App& group) {
    const auto flags = std::make_shared<CalibratePsfFlags>();
    CLI::App* app = group.add_subcommand("psf", "Measures a PSF of any shape in stacks of beads");
    offer_files(app->add_option("beads", flags->beads, "Stacks of beads, one slice per frame")->required(),
                offered_movie_endings());
    offer_files(app->add_option("-o,--output", flags->out, "Measured PSF to write, .h5")->required(), lens_endings);
    offer_files(app->add_option("--plot", flags->plot, "Also draw the PSF and its errors: .png or .svg"),
                plots::figure_endings);
    app->add_option("--z-step", flags->z_step, "Distance between slices, with unit: 10nm")->required();
    app->add_flag("--descending", flags->descending, "z decreases from slice to slice");
    app->add_option("--z-center", flags->z_center, "z of the middle slice, with unit (default: 0nm)");
    app->add_option("--z-scale", flags->z_scale,
                    "z in the sample over z of the stage, for a mismatch of refractive indices, such as 0.8")
        ->capture_default_str();
    app->add_flag("--field", flags->field, "Measure how the PSF changes over the field of view");
    app->add_option("--roi,--roi-size", flags->roi_size, "Edge of the PSF's window, px, odd (default: from the spots)");
    add_movie_flags(*app, flags->choice);
    add_region_flag(*app, flags->camera.region);
    add_camera_flags(*app, flags->camera);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(calibrate_psf_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
