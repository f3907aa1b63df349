// `glint simulate`: simulates a movie with known truth.
// SPDX-License-Identifier: MIT
#include "glint/simulate.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/in_order.hpp"
#include "cli/command.hpp"
#include "cli/commands/calibrate_psf.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/psf_flags.hpp"
#include "cli/flags/pupil_flags.hpp"
#include "cli/process.hpp"
#include "cli/spelling.hpp"
#include "data/provenance.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/movie_io.hpp"
#include "glint/psf_io.hpp"
#include "glint/pupil.hpp"
#include "glint/units.hpp"
#include "glint/version.hpp"
#include "io/files/atomic_file.hpp"
#include "workflow/psf_setup.hpp"

namespace glint::cli {
namespace {

constexpr const char* simulate_footer = R"(
Examples:
  glint simulate -o movie.tif --frames 2000 --seed 7
  glint simulate -o dense.tif --structure random --size 256x256 --spots 100 --photons 300:3000
  glint simulate -o cells.tif --frames 10000 --blinks 5 --drift 200nm
  glint simulate -o emccd.tif --em-gain 300 --gain 15.6 --offset 200 --readnoise 74
  glint simulate -o movie3d.tif --calibration cal.toml --z-range 400nm
  glint simulate -o lens3d.tif --na 1.4 --wavelength 670nm --zernike astigmatism=0.8 --save-psf lens.h5
  glint simulate -o beads.tif --structure beads --na 1.4 --wavelength 670nm --z-range 600nm --z-step 20nm

Writes MOVIE.tif and MOVIE_truth.csv. --na computes the PSF of an objective; --save-psf writes it for
`glint localize --psf`. --structure beads is a z-stack for `glint calibrate`: beads are always on, and
z rises from minus to plus --z-range, one slice a frame.

 The same flags and seed give the same movie on any machine.
The camera and the PSF have default values here: pixel size 100 nm, sigma 130 nm, offset 100 ADU,
gain 1 e-/ADU. For a real movie you must give them.)";

constexpr int max_block_frames = 64, max_counts = 65535;
constexpr std::int64_t block_pixels = 1 << 20;
constexpr double default_spots = 10, default_beads = 5, z_margin_nm = 100;
constexpr std::int64_t default_frames = 1000;
constexpr const char *default_photons = "500:2000", *default_bead_photons = "20000:20000", *default_z_step = "20nm";

struct SimulateFlags {
    std::string out, structure = "microtubules", size = "128x128", photons, z_range, z_step, drift, save_psf;
    int threads = 0;
    std::optional<double> blinks, spots;
    std::optional<std::int64_t> frames;
    bool overwrite = false;
    CameraSetup camera;
    PsfSetup psf;
    PupilFlags pupil;
    SimulateOptions options;
    ConsoleFlags console;
};

/// Parses two numbers with `separator` between them, as in 128x128 or 500:2000.
std::pair<double, double> two_numbers(const std::string& text, char separator, const char* flag, const char* example) {
    double first = 0, second = 0;
    char between = 0, rest = 0;
    if (std::sscanf(text.c_str(), "%lf%c%lf%c", &first, &between, &second, &rest) != 3 || between != separator)
        throw OptionError(fmt::format("{} {}: expected as in {} {}", flag, text, flag, example));
    return {first, second};
}

/// Parses "128x96", or "128" for a square.
void set_size(const std::string& text, SimulateOptions& options) {
    const bool square = text.find('x') == std::string::npos;
    const auto [width, height] = two_numbers(square ? text + "x" + text : text, 'x', "--size", "128x128");
    if (!(width >= 1 && width <= 65536 && height >= 1 && height <= 65536))
        throw OptionError(fmt::format("--size {}: width and height must be 1 to 65536 px", text));
    options.width = int(width), options.height = int(height);
}

Structure structure_of(const std::string& name) {
    return name == "rings"    ? Structure::rings
           : name == "random" ? Structure::random
           : name == "beads"  ? Structure::beads
                              : Structure::microtubules;
}

/// Sets frames and the range of z of a stack of beads: two of --frames, --z-range and --z-step.
void set_stack(const SimulateFlags& flags, double pixel_size_nm, SimulateOptions& options) {
    if (flags.frames && !flags.z_range.empty())
        throw OptionError(fmt::format("--frames {} and --z-range {}: for beads give one of them, with --z-step",
                                      *flags.frames, flags.z_range));
    const double step_nm = to_nm(
        parse_length(flags.z_step.empty() ? default_z_step : flags.z_step, "--z-step", default_z_step), pixel_size_nm);
    if (flags.frames) {
        options.frames = *flags.frames;
        options.z_range_nm = 0.5 * step_nm * double(options.frames - 1);
        return;
    }
    const double steps = std::floor(2 * options.z_range_nm / step_nm + 1e-6);
    if (!(steps >= 1 && steps < 1e6))
        throw OptionError(fmt::format("--z-step {:g}nm over --z-range {:g}nm gives {:.0f} slices: give 2 to 1,000,000",
                                      step_nm, options.z_range_nm, steps + 1));
    options.frames = std::int64_t(steps) + 1;
    options.z_range_nm = 0.5 * step_nm * steps;
}

double find_z_step_nm(const SimulateOptions& options) {
    return options.frames > 1 ? 2 * options.z_range_nm / double(options.frames - 1) : 0;
}

/// Sets the values of which beads have others than blinking molecules.
void set_emitters(const SimulateFlags& flags, double pixel_size_nm, SimulateOptions& options) {
    const bool is_beads = options.structure == Structure::beads;
    if (!is_beads && !flags.z_step.empty())
        throw OptionError(fmt::format("--z-step {}: give --structure beads too, or leave it out", flags.z_step));
    if (is_beads && flags.blinks)
        throw OptionError(fmt::format("--blinks {:g}: beads do not blink, leave it out", *flags.blinks));
    options.spots_per_frame = flags.spots.value_or(is_beads ? default_beads : default_spots);
    options.frames = flags.frames.value_or(default_frames);
    const std::string photons = !flags.photons.empty() ? flags.photons
                                : is_beads             ? default_bead_photons
                                                       : default_photons;
    std::tie(options.photons_min, options.photons_max) = two_numbers(photons, ':', "--photons", default_photons);
    if (!flags.z_range.empty()) options.z_range_nm = parse_signed_nm(flags.z_range, "--z-range", pixel_size_nm);
    if (is_beads) set_stack(flags, pixel_size_nm, options);
}

/// Returns the grid of a computed PSF: the range of z, and a margin in which fits can end.
PupilGrid make_pupil_grid(const Pupil& pupil, const SimulateOptions& options) {
    PupilGrid grid;
    grid.pixel_size_nm = options.pixel_size_nm, grid.stop = options.stop;
    grid.moving = options.structure == Structure::beads ? PupilZ::stage : PupilZ::molecule;
    grid.z_max_nm = options.z_range_nm + z_margin_nm, grid.z_min_nm = -grid.z_max_nm;
    if (grid.moving == PupilZ::molecule && pupil.immersion_index != pupil.sample_index)  // not below the coverslip
        grid.z_min_nm = std::max(grid.z_min_nm, -std::max(pupil.depth_nm, options.z_range_nm));
    return grid;
}

/// Writes --save-psf.
void save_psf(const SimulateFlags& flags) {
    if (flags.save_psf.empty()) return;
    Lens lens;
    lens.table = flags.options.psf.table;
    lens.usable_min_nm = lens.table->scale().z_min_nm, lens.usable_max_nm = lens.table->scale().z_max_nm;
    lens.origin = fmt::format("glint {} simulate{}{}", version(), as_given(flags.pupil), as_given(flags.psf));
    write_lens(flags.save_psf, lens, if_exists(flags.overwrite));
}

void check_save_psf(const SimulateFlags& flags) {
    if (flags.save_psf.empty()) return;
    if (const std::string ending = lower_extension(flags.save_psf); ending != ".h5" && ending != ".hdf5")
        throw OptionError(
            fmt::format("--save-psf {}: give a name that ends in .h5, as in --save-psf lens.h5", flags.save_psf));
    if (!flags.pupil.na && !is_lens_file(flags.psf))
        throw OptionError(
            fmt::format("--save-psf {}: a Gaussian has no coefficients to write: give --na or --psf "
                        "lens.h5, or leave it out",
                        flags.save_psf));
}

/// Sets the values that have defaults only for a simulated camera. For a real camera the user must give them.
void take_defaults(SimulateFlags& flags) {
    if (flags.camera.camera_file.empty() && flags.camera.pixel_size.empty()) {
        const double nm = find_pixel_size_nm(flags.psf);
        flags.camera.pixel_size = nm > 0 ? fmt::format("{}nm", nm) : "100nm";
    }
    if (flags.camera.camera_file.empty() && flags.camera.preset.empty()) {
        if (!flags.camera.offset) flags.camera.offset = 100;
        if (!flags.camera.gain) flags.camera.gain = 1;
    }
    if (flags.psf.sigma.empty() && !flags.pupil.na && needs_width(flags.psf)) flags.psf.sigma = "130nm";
}

/// Throws OptionError if the background is outside the range of 16 bits.
void require_contrast(const Camera& camera, double background) {
    const double level = median_of(camera.offset_adu) + background * camera.em_gain / median_of(camera.gain_e_per_adu);
    if (level >= 0 && level < max_counts) return;
    throw OptionError(fmt::format(
        "the background of {:g} ADU (--offset {:g} and {:g} photoelectrons) is outside the counts of a frame, 0 to {}: "
        "give another --offset or --gain",
        level, median_of(camera.offset_adu), background, max_counts));
}

/// Throws OutputError if the movie is larger than the free space of the file system, if that is known.
void require_room(const SimulateFlags& flags) {
    const SimulateOptions& options = flags.options;
    std::error_code unknown;
    const std::filesystem::path folder = std::filesystem::absolute(without_link(flags.out), unknown).parent_path();
    const std::filesystem::space_info room = std::filesystem::space(folder, unknown);
    const double bytes = 2.0 * options.width * options.height * double(options.frames);
    if (unknown || bytes <= double(room.available)) return;
    throw OutputError(fmt::format(
        "{}: {} frames of {}x{} px need {:.3g} GB, and its file system has {:.3g} GB free: give fewer --frames, "
        "a smaller --size, or another place with -o",
        flags.out, with_commas(options.frames), options.width, options.height, bytes / 1e9,
        double(room.available) / 1e9));
}

/// Simulates blocks in all threads, and writes them in order. Returns the fraction of saturated pixels.
double write_movie(const Simulation& simulation, const SimulateFlags& flags, const std::filesystem::path& truth_file,
                   const Localizations& truth, const Progress& progress, const StopFlag& stop) {
    const MovieInfo info = simulation.info();
    repair_pair(without_link(truth_file), without_link(flags.out));
    TiffMovieWriter writer(flags.out, info, if_exists(flags.overwrite));
    const std::int64_t pixels = std::int64_t(info.width) * info.height;
    const std::int64_t step = std::clamp<std::int64_t>(block_pixels / pixels, 1, max_block_frames);
    std::int64_t next = 0, written = 0, saturated = 0;
    struct MovieBlock {
        std::int64_t first = 0;
        FrameBlock frames;
    };
    const int threads = flags.threads > 0 ? flags.threads : environment::threads();
    in_order(
        threads, std::vector<MovieBlock>(std::size_t(2 * threads)),
        [&](MovieBlock& block) {
            block.first = std::exchange(next, next + step);
            return block.first < info.frames && !stop.load();
        },
        [&](MovieBlock& block) {
            simulation.read(block.first, int(std::min(step, info.frames - block.first)), block.frames);
        },
        [&](const MovieBlock& block) {
            writer.append(block.frames);
            for (int frame = 0; frame < block.frames.count; ++frame) {
                const auto* counts = reinterpret_cast<const std::uint16_t*>(block.frames.frame(frame));
                saturated += std::count(counts, counts + pixels, max_counts);
            }
            written += block.frames.count;
            if (progress) progress(written, info.frames, -1);
        });
    if (written < info.frames) throw Cancelled(fmt::format("stopped: {} was not written", flags.out));
    writer.close_with_truth(truth_file, truth);
    return double(saturated) / (double(pixels) * double(written));
}

/// Returns the next command: of a stack of beads, the calibration. Empty if it needs the file of a computed PSF.
std::string suggest_command(const SimulateFlags& flags) {
    if (flags.options.structure == Structure::beads)
        return fmt::format("glint calibrate psf {} -o lens.h5 --z-step {:g}nm{}", shell_file(flags.out),
                           find_z_step_nm(flags.options), as_given(flags.camera));
    if (flags.pupil.na && flags.save_psf.empty()) return "";
    return fmt::format("glint localize {} -o locs.hdf5{}{}", shell_file(flags.out),
                       flags.pupil.na ? " --psf " + shell_file(flags.save_psf) : as_given(flags.psf),
                       as_given(flags.camera));
}

std::string next_step(const SimulateFlags& flags) {
    return flags.options.structure == Structure::beads ? "calibrate" : "localize";
}

std::filesystem::path truth_path(const std::filesystem::path& movie) {
    return std::filesystem::path(movie).replace_filename(movie.stem().string() + "_truth.csv");
}

void print_simulation(const SimulateFlags& flags, const std::optional<ComputedPsf>& computed,
                      const std::filesystem::path& truth_file, std::int64_t spots) {
    const std::string command = suggest_command(flags);
    if (flags.console.json) {
        nlohmann::ordered_json json{{"output", flags.out},
                                    {"truth", truth_file.string()},
                                    {"frames", flags.options.frames},
                                    {"molecules", spots}};
        if (flags.options.structure == Structure::beads) json["z_step_nm"] = find_z_step_nm(flags.options);
        if (computed)
            json["window_px"] = computed->window_px, json["light_min"] = computed->min_light,
            json["light_max"] = computed->max_light;
        if (!flags.save_psf.empty()) json["psf"] = flags.save_psf;
        if (!command.empty()) json[next_step(flags)] = command;
        return print_json(json);
    }
    Summary summary;
    summary.add("frames", with_commas(flags.options.frames)).add("spots", with_commas(spots));
    if (computed)
        summary.add("window of the PSF", fmt::format("{} px, with {:.0f} to {:.0f} % of the light", computed->window_px,
                                                     100 * computed->min_light, 100 * computed->max_light));
    summary.add("written", flags.out).add("truth", truth_file.string());
    if (!flags.save_psf.empty()) summary.add("PSF", flags.save_psf);
    if (!command.empty()) summary.add(next_step(flags) + " it", command);
    summary.print();
}

int run(SimulateFlags& flags) {
    if (const std::string extension = lower_extension(flags.out); extension != ".tif" && extension != ".tiff")
        throw OptionError(fmt::format("-o {}: a movie is written as TIFF, to a name that ends in .tif", flags.out));
    const StopFlag& stop = stop_on_signals();
    const std::filesystem::path truth_file = truth_path(flags.out);
    check_save_psf(flags);
    const std::optional<Pupil> pupil = find_pupil(flags.pupil, flags.psf);
    take_defaults(flags);
    SimulateOptions& options = flags.options;
    MovieInfo movie;
    movie.name = flags.out;
    MissingOptions missing;  // after take_defaults(), only values of a calibration can be missing
    const CameraFacts facts = camera_facts(flags.camera, movie, missing);
    if (!flags.pupil.na) note_missing(flags.psf, missing);
    missing.require(flags.out,
                    "glint simulate -o " + shell_file(flags.out) + as_given(flags.psf) + as_given(flags.camera));
    Paths inputs = facts.files;
    for (const std::filesystem::path& file : files_of(flags.psf)) inputs.push_back(file);
    Paths outputs{flags.out, truth_file};
    if (!flags.save_psf.empty()) outputs.push_back(flags.save_psf);
    check_outputs(outputs, if_exists(flags.overwrite), inputs);
    if (flags.blinks && !(*flags.blinks > 0))
        throw OptionError(fmt::format(
            "--blinks {:g}: give more than 0, or leave it out so that each molecule turns on once", *flags.blinks));
    options.blinks = flags.blinks.value_or(0);
    options.pixel_size_nm = facts.pixel_size_nm;
    options.structure = structure_of(flags.structure);
    options.stop = &stop;
    set_size(flags.size, options);
    set_emitters(flags, facts.pixel_size_nm, options);
    if (!flags.drift.empty()) options.drift_nm = to_nm(parse_length(flags.drift, "--drift"), facts.pixel_size_nm);

    require_room(flags);

    Console console(flags.console);
    std::optional<ComputedPsf> computed;
    if (pupil) {
        computed = compute_psf(*pupil, make_pupil_grid(*pupil, options));
        options.psf = computed->psf;
        for (const std::string& warning : computed->warnings) console.warn(in_flags(warning));
    } else {
        options.psf = psf_of(flags.psf, facts.pixel_size_nm);
    }
    if (const std::string text = beyond_calibration(options); !text.empty())
        console.warn(text + ": give a smaller --z-range");
    const Simulation simulation(options, facts.camera);
    require_contrast(facts.camera, options.background);
    const Localizations truth = simulation.truth(0, options.frames);
    save_psf(flags);
    const double saturated =
        write_movie(simulation, flags, truth_file, truth, console.progress(flags.out, "frames"), stop);
    console.end_progress();
    if (saturated > 0)
        console.warn(fmt::format(
            "{}: {:.2g} % of the pixels are saturated, at {} ADU: give a smaller --offset or a larger --gain",
            flags.out, 100 * saturated, max_counts));
    print_simulation(flags, computed, truth_file, std::int64_t(truth.size()));
    return exit_ok;
}

}  // namespace

Command add_simulate(CLI::App& program) {
    const auto flags = std::make_shared<SimulateFlags>();
    SimulateOptions& options = flags->options;
    CLI::App* app = program.add_subcommand("simulate", "Simulates a movie with known truth");
    offer_files(app->add_option("-o,--output", flags->out,
                                "Movie to write, .tif; the truth is written to NAME_truth.csv beside it")
                    ->required(),
                {".tif", ".tiff"});
    app->add_option("--structure", flags->structure, "microtubules, rings, random, or beads: a z-stack of beads")
        ->check(CLI::IsMember({"microtubules", "rings", "random", "beads"}))
        ->capture_default_str();
    app->add_option("--size", flags->size, "WIDTHxHEIGHT, or one number for a square, px")->capture_default_str();
    app->add_option("--frames", flags->frames, "Number of frames (default: 1000; beads: from --z-range and --z-step)")
        ->check(CLI::Range(std::int64_t(1), std::int64_t(4294967295)));
    app->add_option("--spots", flags->spots,
                    "Mean number of molecules that are on in a frame (default: 10), or number of beads (default: 5)");
    app->add_option("--photons", flags->photons,
                    "MIN:MAX photons of a molecule in a frame, uniform (default: 500:2000), or of a bead, constant "
                    "(default: 20000:20000)");
    app->add_option("--background", options.background, "Photoelectrons per pixel and frame")->capture_default_str();
    app->add_option("--on-frames", options.on_frames, "Mean time that a molecule is on, frames")->capture_default_str();
    app->add_option(
        "--blinks", flags->blinks,
        "Mean number of times that a molecule turns on, at the same position (default: each molecule turns on once)");
    app->add_option(
        "--drift", flags->drift,
        "Drift of the sample, a random walk: RMS distance along x and along y at the last frame, as in 200nm");
    app->add_option("--z-range", flags->z_range,
                    "z is uniform between minus and plus this value, for models whose shape depends on z (default: "
                    "400nm). 0: all molecules in focus. Beads: from minus to plus this value");
    app->add_option("--z-step", flags->z_step, "Movement of the stage from frame to frame, for beads (default: 20nm)");
    app->add_option("--seed", options.seed, "Random seed")->capture_default_str()->check(any_seed());
    app->add_option("--threads", flags->threads, "Threads (default: GLINT_THREADS, or all that may be used)")
        ->check(CLI::Range(1, 4096));
    add_psf_flags(*app, flags->psf);
    add_pupil_flags(*app, flags->pupil);
    offer_files(app->add_option("--save-psf", flags->save_psf,
                                "Also write the PSF of --na or --psf, .h5, for `glint localize --psf`"),
                {".h5", ".hdf5"});
    add_camera_flags(*app, flags->camera);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(simulate_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
