// `glint calibrate psf-2d`: estimates a PSF without z from a movie's own lone spots.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/commands/calibrate_psf.hpp"
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
#include "glint/estimate_psf.hpp"
#include "glint/movie_io.hpp"
#include "glint/psf_io.hpp"
#include "glint/units.hpp"
#include "glint/version.hpp"
#include "psf/in_double.hpp"

namespace glint::cli {
namespace {

constexpr const char* calibrate_psf_2d_footer = R"(
Examples:
  glint calibrate psf-2d movie.tif -o psf.h5 --plot psf.png --camera camera.toml
  glint localize movie.tif -o locs.hdf5 --psf psf.h5 --camera camera.toml
  glint localize movie.tif -o locs.hdf5 --psf auto --camera camera.toml

Estimates the PSF of a movie, without z, from its own lone spots: the rings and asymmetries that a
Gaussian lacks. Bright spots then get no false neighbours, photons are complete, and p values right.
--psf auto does the same while it localizes, without a file.

Needs at least 300 lone spots, better 3,000, of molecules at one depth. It tests the PSF on spots that
it did not use, and warns if one PSF does not describe them. For a sample with depth, measure a PSF
with z from beads: `glint calibrate psf`.)";

struct CalibratePsf2dFlags {
    std::string movie, out, plot, sigma, frames;
    bool overwrite = false;
    MovieChoice choice;
    CameraSetup camera;
    ConsoleFlags console;
};

void check_flags_2d(const CalibratePsf2dFlags& flags) {
    const std::string ending = lower_extension(flags.out);
    if (ending != ".h5" && ending != ".hdf5")
        throw OptionError(fmt::format("--output {}: give a name that ends in .h5, as in -o psf.h5", flags.out));
    check_plot(flags.plot);
}

/// The PSF in its window, and its mean over rings beside that of the Gaussian of the same height.
plots::Figure psf_2d_figure(const EstimatedPsf& found) {
    const Psf model = measured_psf(found.table);
    const double pixel_nm = found.table->scale().pixel_size_nm;
    const PsfInDouble psf(model, pixel_nm);
    const int size = found.roi_size, half = size / 2;
    std::vector<double> image(std::size_t(size) * std::size_t(size));
    const double theta[] = {double(half), double(half), 1, 0};
    psf.add_photons(theta, 0, 0, size, size, image.data());
    const double peak = *std::max_element(image.begin(), image.end()), edge_nm = 0.5 * size * pixel_nm;
    plots::Panel shape, rings;
    shape.title = "PSF, power of ten of the share of light a pixel", shape.x.label = "x (nm)", shape.y.label = "y (nm)";
    shape.has_colors = true, shape.y.is_reversed = true;
    plots::Heat heat{{}, std::size_t(size), -edge_nm, edge_nm, -edge_nm, edge_nm};
    heat.low = std::log10(peak) - 4, heat.high = std::log10(peak);
    std::vector<double> sum(std::size_t(2 * half + 1)), count(sum.size());
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            const double value = image[std::size_t(y * size + x)], radius = std::hypot(x - half, y - half);
            heat.values.push_back(std::log10(std::max(value, 1e-9)));
            const auto ring = std::size_t(std::lround(2 * radius));
            if (ring < sum.size()) sum[ring] += value, count[ring] += 1;
        }
    shape.heats.push_back(std::move(heat));
    rings.title = "Mean over rings", rings.x.label = "Distance (nm)", rings.y.label = "Share of light a pixel";
    rings.x.low = 0, rings.x.high = edge_nm, rings.y.is_log = true, rings.y.low = peak * 1e-5, rings.y.high = peak * 2;
    plots::Curve measured{{}, plots::blue, "PSF", 2, false, true};
    const double sigma_nm = model.detection_sigma_nm();
    plots::Curve gaussian{{}, plots::vermilion, fmt::format("Gaussian of {:.0f} nm", sigma_nm), 2, true};
    for (std::size_t k = 0; k < sum.size(); ++k)
        if (count[k] > 0 && sum[k] > 0) measured.points.push_back({0.5 * double(k) * pixel_nm, sum[k] / count[k]});
    for (double r = 0; r < edge_nm; r += 0.01 * edge_nm)
        gaussian.points.push_back({r, peak * std::exp(-r * r / (2 * sigma_nm * sigma_nm))});
    rings.curves = {std::move(measured), std::move(gaussian)};
    plots::Figure figure = plots::figure_of({std::move(shape), std::move(rings)}, 1000, 460);
    plots::Box& square = figure.panels[0].box;
    square.width = square.height = std::min(square.width, square.height);
    return figure;
}

std::string share_text(const SpotFits& fits) {
    return fmt::format("{:.1f} % have p > 0.01; deviance {:.2f} per degree of freedom", 100 * fits.good_p,
                       fits.deviance);
}

void print_found(const EstimatedPsf& found, const CalibratePsf2dFlags& flags, const std::string& plot) {
    if (flags.console.json)
        return print_json({{"output", flags.out},
                           {"frames", found.frames},
                           {"spots", found.spots},
                           {"lone_spots", found.lone},
                           {"spots_used", found.used},
                           {"photons", found.photons},
                           {"outside", found.outside},
                           {"roi_px", found.roi_size},
                           {"p_above_0.01", found.psf.good_p},
                           {"deviance", found.psf.deviance},
                           {"gaussian_p_above_0.01", found.gaussian.good_p},
                           {"gaussian_deviance", found.gaussian.deviance},
                           {"warnings", found.warnings}});
    Summary summary;
    summary.add("frames", with_commas(found.frames))
        .add("spots", fmt::format("{}, {} of them lone; the PSF is from {}", with_commas(found.spots),
                                  with_commas(found.lone), with_commas(found.used)))
        .add("photons", fmt::format("{:.0f}, median", found.photons))
        .add("good fits", share_text(found.psf))
        .add("  by a Gaussian", share_text(found.gaussian))
        .add("window", fmt::format("{} px; {:.1f} % of the light lies outside or counts as background", found.roi_size,
                                   100 * found.outside))
        .add("written", flags.out);
    if (!plot.empty()) summary.add("plot", plot);
    summary.print();
}

int run_2d(const CalibratePsf2dFlags& flags) {
    const StopFlag& stop = stop_on_signals();
    check_flags_2d(flags);
    std::unique_ptr<Movie> movie = open_movie(flags.movie, flags.choice);
    if (!flags.camera.region.empty()) movie = crop_movie(std::move(movie), parse_pixel_region(flags.camera.region));
    const MovieInfo& info = movie->info();
    MissingOptions missing;
    const CameraFacts facts = camera_facts(flags.camera, info, missing);
    missing.require(info.name, fmt::format("glint calibrate psf-2d {} -o {}{}", shell_file(flags.movie),
                                           shell_file(flags.out), as_given(flags.choice) + as_given(flags.camera)));
    Console console(flags.console);
    for (const std::string& warning : info.warnings) console.warn(warning);
    if (const std::string other = pixel_size_contradiction(info, facts.pixel_size_nm); !other.empty())
        console.warn(other);
    Paths inputs = facts.files, outputs{flags.out};
    inputs.insert(inputs.end(), info.files.begin(), info.files.end());
    if (!flags.plot.empty()) outputs.push_back(flags.plot);
    const IfExists existing = if_exists(flags.overwrite);
    check_outputs(outputs, existing, inputs);
    console.notice(fmt::format("{}: {} frames; {}", flags.movie, info.frames, facts.sources));
    EstimatePsfOptions options;
    options.pixel_size_nm = facts.pixel_size_nm;
    if (!flags.sigma.empty()) options.sigma_nm = to_nm(parse_length(flags.sigma, "--sigma"), facts.pixel_size_nm);
    options.frames = parse_frame_range(flags.frames, info.frames);
    options.progress = console.progress("estimating", "steps");
    options.stop = &stop;
    EstimatedPsf found;
    try {
        found = estimate_psf(*movie, facts.camera, options);
    } catch (const Cancelled&) {
        console.end_progress();
        console.warn("stopped: nothing was written");
        return exit_interrupted;
    }
    console.end_progress();
    for (const std::string& warning : found.warnings) console.warn(in_flags(warning));
    Lens lens;
    lens.table = found.table;
    lens.origin = fmt::format("glint {} calibrate psf-2d, {} lone spots of {}", version(), found.used, flags.movie);
    write_lens(flags.out, lens, existing);
    print_found(found, flags,
                flags.plot.empty() ? "" : draw_plot(psf_2d_figure(found), flags.plot, existing, "The PSF", console));
    return exit_ok;
}

}  // namespace

Command add_calibrate_psf_2d(CLI::App& group) {
    const auto flags = std::make_shared<CalibratePsf2dFlags>();
    CLI::App* app = group.add_subcommand("psf-2d", "Estimates a PSF without z from the lone spots of a movie");
    offer_files(app->add_option("movie", flags->movie, "Movie of single molecules")->required(),
                offered_movie_endings());
    offer_files(app->add_option("-o,--output", flags->out, "Measured PSF to write, .h5")->required(), {".h5", ".hdf5"});
    offer_files(app->add_option("--plot", flags->plot, "Also draw the PSF: .png or .svg"), plots::figure_endings);
    app->add_option("--sigma", flags->sigma,
                    "Approximate PSF width, used to find the spots, with unit (default: from the movie)");
    app->add_option("--frames", flags->frames, "BEGIN:END, frames to use, from 0, END excluded: 0:1000, 500:");
    add_movie_flags(*app, flags->choice);
    add_region_flag(*app, flags->camera.region);
    add_camera_flags(*app, flags->camera);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(calibrate_psf_2d_footer);
    return {app, [flags] { return run_2d(*flags); }};
}

}  // namespace glint::cli
