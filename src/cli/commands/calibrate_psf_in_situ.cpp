// `glint calibrate psf-in-situ`: corrects a PSF of beads for the aberrations of the sample.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/calibrate_psf.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/pupil_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/plotting.hpp"
#include "cli/process.hpp"
#include "cli/spelling.hpp"
#include "data/camera_of_movie.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "glint/psf_io.hpp"
#include "glint/refine_psf.hpp"
#include "glint/units.hpp"
#include "glint/version.hpp"
#include "workflow/to_lens.hpp"

namespace glint::cli {
namespace {

constexpr const char* psf_in_situ_footer = R"(
Examples:
  glint calibrate psf beads.tif --z-step 20nm -o lens.h5 --camera camera.toml
  glint calibrate psf-in-situ movie.tif --psf lens.h5 --na 1.27 --wavelength 670nm \
      --immersion-index 1.33 -o in_situ.h5 --plot in_situ.png --camera camera.toml
  glint localize movie.tif -o locs.hdf5 --psf in_situ.h5 --camera camera.toml

Beads lie on the coverslip. Molecules deep in a sample have another PSF, mostly by spherical
aberration, and z by the beads' PSF is then wrong. This estimates the sample's aberrations from the
lone spots of a movie, at least 300, better 2,000, and writes the PSF with them. It tests the result
on spots that it did not use. If these do not become more likely, it writes the beads' PSF.

With --sample-index, the depth of the focus above the coverslip determines the spherical aberration
and its growth with z. z is then the height of the molecule, where the beads' z is the stage's.)";

struct PsfInSituFlags {
    std::string movie, psf, out, plot, wavelength, frames;
    double na = 0;
    std::optional<double> immersion_index, sample_index;
    std::optional<int> psf_channel;
    bool overwrite = false;
    MovieChoice choice;
    CameraSetup camera;
    ConsoleFlags console;
};

/// How z changes: refined minus beads, in ascending order.
std::vector<double> sorted_changes(const RefinedPsf& found) {
    std::vector<double> changes;
    for (const RefinedSpot& spot : found.left_out) changes.push_back(spot.z_nm - spot.beads_z_nm);
    std::sort(changes.begin(), changes.end());
    return changes;
}

double quantile(const std::vector<double>& sorted, double part) {
    return sorted.empty() ? 0 : sorted[std::size_t(part * double(sorted.size() - 1))];
}

/// Counts of values in bins of 50 nm.
plots::Bars z_histogram(const std::vector<double>& z_nm, const plots::Color& color, const char* name) {
    constexpr double bin_nm = 50;
    std::map<double, double> counts;
    for (const double z : z_nm) ++counts[std::floor(z / bin_nm)];
    plots::Bars bars{{}, bin_nm, color, name};
    for (const auto& [bin, count] : counts) bars.tops.push_back({(bin + 0.5) * bin_nm, count});
    return bars;
}

/// The change of z over z, and histograms of z by both PSFs.
plots::Figure in_situ_figure(const RefinedPsf& found) {
    plots::Panel change, both;
    change.title = "z by the refined PSF minus z by that of the beads", change.x.label = "z by the refined PSF (nm)";
    change.y.label = "Change of z (nm)";
    both.title = "z of the left-out spots", both.x.label = "z (nm)", both.y.label = "Spots";
    plots::Dots dots;
    std::vector<double> before, after;
    for (const RefinedSpot& spot : found.left_out) {
        dots.points.push_back({spot.z_nm, spot.z_nm - spot.beads_z_nm});
        before.push_back(spot.beads_z_nm), after.push_back(spot.z_nm);
    }
    change.dots.push_back(std::move(dots));
    // A few spots have another maximum of the likelihood with each PSF: they lie outside.
    const std::vector<double> changes = sorted_changes(found);
    const double low = quantile(changes, 0.03), high = quantile(changes, 0.97), margin = 20 + 0.3 * (high - low);
    change.y.low = low - margin, change.y.high = high + margin;
    both.bars.push_back(z_histogram(before, {190, 190, 190}, "PSF of the beads"));
    plots::Color refined = plots::blue;
    refined.opacity = 0.6;
    both.bars.push_back(z_histogram(after, refined, "refined PSF"));
    return plots::figure_of({std::move(change), std::move(both)}, 1000, 460);
}

nlohmann::json to_json(const SpotFits& fits) { return {{"p_above_0.01", fits.good_p}, {"deviance", fits.deviance}}; }

void print_in_situ(const RefinedPsf& found, const PsfInSituFlags& flags, const std::string& plot) {
    if (flags.console.json) {
        std::vector<std::string> warnings;
        for (const std::string& warning : found.warnings) warnings.push_back(in_flags(warning));
        nlohmann::json aberrations = nlohmann::json::array();
        for (const SampleAberration& one : found.aberrations)
            aberrations.push_back({{"name", one.name}, {"unit", one.unit}, {"value", one.value}, {"error", one.error}});
        return print_json({{"output", flags.out},
                           {"frames", found.frames},
                           {"spots", found.spots},
                           {"lone_spots", found.lone},
                           {"spots_used", found.used},
                           {"roi_px", found.roi_size},
                           {"aberrations", aberrations},
                           {"is_better", found.is_better},
                           {"added_likelihood", found.added_likelihood},
                           {"added_likelihood_error", found.added_likelihood_error},
                           {"unexplained", found.unexplained},
                           {"refined", to_json(found.refined)},
                           {"beads", to_json(found.beads)},
                           {"plot", plot.empty() ? nlohmann::json() : nlohmann::json(plot)},
                           {"warnings", warnings}});
    }
    Summary summary;
    summary.add("frames", with_commas(found.frames))
        .add("spots", fmt::format("{}, {} of them lone; {} were used", with_commas(found.spots),
                                  with_commas(found.lone), with_commas(found.used)))
        .add("lens",
             fmt::format("Zernike polynomials describe {:.0f} % of the beads' PSF", 100 * (1 - found.unexplained)));
    for (const SampleAberration& one : found.aberrations)
        summary.add(one.name, one.unit == "nm" ? fmt::format("{:.0f} +- {:.0f} nm", one.value, one.error)
                                               : fmt::format("{:.3f} +- {:.3f} {}", one.value, one.error, one.unit));
    const auto describe = [](const SpotFits& fits) {
        return fmt::format("{:.1f} % have p > 0.01; deviance {:.2f} per degree of freedom", 100 * fits.good_p,
                           fits.deviance);
    };
    const std::vector<double> changes = sorted_changes(found);
    summary.add("good fits", describe(found.refined))
        .add("  with the beads' PSF", describe(found.beads))
        .add("z changes by", fmt::format("{:+.0f} to {:+.0f} nm (5 % to 95 % of the left-out spots)",
                                         quantile(changes, 0.05), quantile(changes, 0.95)))
        .add("log-likelihood",
             fmt::format("{:+.2f} +- {:.2f} a left-out spot", found.added_likelihood, found.added_likelihood_error))
        .add("written", flags.out + (found.is_better ? "" : ", the PSF of the beads"));
    if (!plot.empty()) summary.add("plot", plot);
    summary.print();
}

RefinePsfOptions refine_options(const PsfInSituFlags& flags, const MovieInfo& info) {
    RefinePsfOptions options;
    options.na = flags.na;
    options.wavelength_nm = parse_optical_nm(flags.wavelength, "--wavelength", "670nm");
    options.immersion_index = flags.immersion_index.value_or(options.immersion_index);
    options.sample_index = flags.sample_index.value_or(0);
    if (flags.sample_index && options.sample_index == 0)
        throw OptionError("--sample-index 0: a refractive index is 1 to 2, as in --sample-index 1.33");
    options.frames = parse_frame_range(flags.frames, info.frames);
    return options;
}

/// The other flags, for a command line.
std::string optics_as_given(const PsfInSituFlags& flags) {
    std::string text;
    if (flags.psf_channel) text += fmt::format(" --psf-channel {}", *flags.psf_channel);
    if (flags.immersion_index) text += fmt::format(" --immersion-index {:g}", *flags.immersion_index);
    if (flags.sample_index) text += fmt::format(" --sample-index {:g}", *flags.sample_index);
    if (!flags.frames.empty()) text += " --frames " + shell_file(flags.frames);
    if (!flags.plot.empty()) text += " --plot " + shell_file(flags.plot);
    return text + (flags.overwrite ? " --overwrite" : "");
}

int run_in_situ(const PsfInSituFlags& flags) {
    const StopFlag& stop = stop_on_signals();
    const std::string ending = lower_extension(flags.out);
    if (ending != ".h5" && ending != ".hdf5")
        throw OptionError(fmt::format("--output {}: give a name that ends in .h5, as in -o in_situ.h5", flags.out));
    check_plot(flags.plot);
    std::unique_ptr<Movie> movie = open_movie(flags.movie, flags.choice);
    if (!flags.camera.region.empty()) movie = crop_movie(std::move(movie), parse_pixel_region(flags.camera.region));
    const MovieInfo& info = movie->info();
    ReadLensOptions of_file;
    of_file.channel = flags.psf_channel.value_or(0);
    if (!flags.camera.pixel_size.empty())
        of_file.pixel_size_nm = pixel_size_nm(flags.camera.pixel_size);
    else if (info.pixel_size_nm)
        of_file.pixel_size_nm = *info.pixel_size_nm;
    const Lens beads = read_lens(flags.psf, of_file);
    CameraSetup setup = flags.camera;
    if (setup.pixel_size.empty()) setup.pixel_size = fmt::format("{}nm", beads.table->scale().pixel_size_nm);
    MissingOptions missing;
    const CameraFacts facts = camera_facts(setup, info, missing);
    missing.require(info.name, fmt::format("glint calibrate psf-in-situ {} --psf {} --na {:g} --wavelength {} -o {}{}",
                                           shell_file(flags.movie), shell_file(flags.psf), flags.na, flags.wavelength,
                                           shell_file(flags.out),
                                           optics_as_given(flags) + as_given(flags.choice) + as_given(flags.camera)));
    Console console(flags.console);
    for (const std::string& warning : info.warnings) console.warn(warning);
    if (const std::string other = pixel_size_contradiction(info, facts.pixel_size_nm); !other.empty())
        console.warn(other);
    Paths inputs = facts.files, outputs{flags.out};
    inputs.insert(inputs.end(), info.files.begin(), info.files.end());
    inputs.push_back(flags.psf);
    if (!flags.plot.empty()) outputs.push_back(flags.plot);
    const IfExists existing = if_exists(flags.overwrite);
    check_outputs(outputs, existing, inputs);
    console.notice(fmt::format("{}: {} frames; {}", flags.movie, info.frames, facts.sources));
    RefinePsfOptions options = refine_options(flags, info);
    options.pixel_size_nm = facts.pixel_size_nm;
    options.progress = console.progress("refining", "steps");
    options.stop = &stop;
    RefinedPsf found;
    try {
        found = refine_psf(*movie, facts.camera, *beads.table, options);
    } catch (const Cancelled&) {
        console.end_progress();
        console.warn("stopped: nothing was written");
        return exit_interrupted;
    }
    console.end_progress();
    for (const std::string& warning : found.warnings) console.warn(in_flags(warning));
    write_lens(
        flags.out,
        to_lens(found, beads,
                fmt::format("glint {} calibrate psf-in-situ, {} lone spots of {}", version(), found.used, flags.movie)),
        existing);
    print_in_situ(
        found, flags,
        flags.plot.empty() ? "" : draw_plot(in_situ_figure(found), flags.plot, existing, "The refined PSF", console));
    return exit_ok;
}

}  // namespace

Command add_calibrate_psf_in_situ(CLI::App& group) {
    const auto flags = std::make_shared<PsfInSituFlags>();
    CLI::App* app =
        group.add_subcommand("psf-in-situ", "Corrects a PSF of beads for the sample, by the lone spots of a movie");
    offer_files(app->add_option("movie", flags->movie, "Movie of single molecules")->required(),
                offered_movie_endings());
    offer_files(app->add_option("--psf", flags->psf, "PSF with z measured from beads")->required(),
                {".h5", ".hdf5", ".mat"});
    app->add_option("--psf-channel", flags->psf_channel, "Which PSF of a file with several, from 1")
        ->check(CLI::Range(1, 1000));
    offer_files(app->add_option("-o,--output", flags->out, "PSF to write, .h5")->required(), {".h5", ".hdf5"});
    app->add_option("--na", flags->na, "Numerical aperture of the objective")->required();
    app->add_option("--wavelength", flags->wavelength, "Wavelength of the light in vacuum, with unit: 670nm")
        ->required();
    app->add_option("--immersion-index", flags->immersion_index,
                    "Refractive index of the immersion (default: 1.518, oil)");
    app->add_option("--sample-index", flags->sample_index,
                    "Refractive index of the sample, above --na, such as 1.33 (default: that of the immersion)");
    offer_files(app->add_option("--plot", flags->plot, "Also draw how z changes: .png or .svg"), plots::figure_endings);
    app->add_option("--frames", flags->frames, "BEGIN:END, frames to use, from 0, END excluded: 0:1000, 500:");
    add_movie_flags(*app, flags->choice);
    add_region_flag(*app, flags->camera.region);
    add_camera_flags(*app, flags->camera);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(psf_in_situ_footer);
    return {app, [flags] { return run_in_situ(*flags); }};
}

}  // namespace glint::cli
