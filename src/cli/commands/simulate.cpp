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
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/psf_flags.hpp"
#include "cli/process.hpp"
#include "cli/spelling.hpp"
#include "data/provenance.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/movie_io.hpp"
#include "glint/units.hpp"
#include "io/files/atomic_file.hpp"
#include "workflow/psf_setup.hpp"

namespace glint::cli {
namespace {

constexpr const char* simulate_footer = R"(
Examples:
  glint simulate -o movie.tif --frames 2000 --seed 7
  glint simulate -o dense.tif --structure random --size 256x256 --spots 100 --photons 300:3000 --background 20
  glint simulate -o cells.tif --frames 10000 --blinks 5 --drift 200nm
  glint simulate -o emccd.tif --em-gain 300 --gain 15.6 --offset 200 --readnoise 74
  glint simulate -o movie3d.tif --calibration cal.toml --z-range 400nm

Writes MOVIE.tif and MOVIE_truth.csv. The same flags and seed give the same movie on any machine. Unlike a real
camera's, values not given have a default here: pixel 100 nm, sigma 130 nm, offset 100 ADU, gain 1 e-/ADU.)";

constexpr int most_block_frames = 64, most_counts = 65535;
constexpr std::int64_t block_pixels = 1 << 20;

struct SimulateFlags {
    std::string out, structure = "microtubules", size = "128x128", photons = "500:2000", z_range = "400nm", drift;
    int threads = 0;
    std::optional<double> blinks;
    bool overwrite = false;
    CameraSetup camera;
    PsfSetup psf;
    SimulateOptions options;
    ConsoleFlags console;
};

/// Two numbers with `separator` between, as in 128x128 or 500:2000.
std::pair<double, double> two_numbers(const std::string& text, char separator, const char* flag, const char* example) {
    double first = 0, second = 0;
    char between = 0, rest = 0;
    if (std::sscanf(text.c_str(), "%lf%c%lf%c", &first, &between, &second, &rest) != 3 || between != separator)
        throw OptionError(fmt::format("{} {}: expected as in {} {}", flag, text, flag, example));
    return {first, second};
}

/// "128x96", or "128" for a square.
void set_size(const std::string& text, SimulateOptions& options) {
    const bool square = text.find('x') == std::string::npos;
    const auto [width, height] = two_numbers(square ? text + "x" + text : text, 'x', "--size", "128x128");
    if (!(width >= 1 && width <= 65536 && height >= 1 && height <= 65536))
        throw OptionError(fmt::format("--size {}: width and height are 1 to 65536 px", text));
    options.width = int(width), options.height = int(height);
}

Structure structure_of(const std::string& name) {
    return name == "rings" ? Structure::rings : name == "random" ? Structure::random : Structure::microtubules;
}

/// Fills in the values that have defaults for a simulated camera only; those of a real one must be given.
void take_defaults(SimulateFlags& flags) {
    if (flags.camera.camera_file.empty() && flags.camera.pixel_size.empty()) flags.camera.pixel_size = "100nm";
    if (flags.camera.camera_file.empty() && flags.camera.preset.empty()) {
        if (!flags.camera.offset) flags.camera.offset = 100;
        if (!flags.camera.gain) flags.camera.gain = 1;
    }
    const bool needs_sigma = flags.psf.calibration.empty() &&
                             (flags.psf.model.empty() || !describe(parse_psf_model(flags.psf.model)).calibrated);
    if (flags.psf.sigma.empty() && needs_sigma) flags.psf.sigma = "130nm";
}

/// Refuses a camera whose every pixel would be at one end of 16 bits.
void require_contrast(const Camera& camera, double background) {
    const double level = median_of(camera.offset_adu) + background * camera.em_gain / median_of(camera.gain_e_per_adu);
    if (level >= 0 && level < most_counts) return;
    throw OptionError(fmt::format(
        "a background at {:g} ADU (--offset {:g} and {:g} photoelectrons): frames hold counts from 0 to {}, and "
        "would show nothing; give another --offset or --gain",
        level, median_of(camera.offset_adu), background, most_counts));
}

/// Refuses what the output's file system has no room for, where that says how much it has.
void require_room(const SimulateFlags& flags) {
    const SimulateOptions& options = flags.options;
    std::error_code unknown;
    const std::filesystem::path folder = std::filesystem::absolute(without_link(flags.out), unknown).parent_path();
    const std::filesystem::space_info room = std::filesystem::space(folder, unknown);
    const double bytes = 2.0 * options.width * options.height * double(options.frames);
    if (unknown || bytes <= double(room.available)) return;
    throw OutputError(fmt::format(
        "{}: {} frames of {}x{} px are {:.3g} GB, and its file system has {:.3g} GB free: give fewer --frames, "
        "a smaller --size, or another place with -o",
        flags.out, with_commas(options.frames), options.width, options.height, bytes / 1e9,
        double(room.available) / 1e9));
}

/// All threads simulate blocks, which are written in order. Returns the share of pixels that are saturated.
double write_movie(const Simulation& simulation, const SimulateFlags& flags, const std::filesystem::path& truth_file,
                   const Localizations& truth, const Progress& progress, const StopFlag& stop) {
    const MovieInfo info = simulation.info();
    repair_pair(without_link(truth_file), without_link(flags.out));
    TiffMovieWriter writer(flags.out, info, if_exists(flags.overwrite));
    const std::int64_t pixels = std::int64_t(info.width) * info.height;
    const std::int64_t step = std::clamp<std::int64_t>(block_pixels / pixels, 1, most_block_frames);
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
                saturated += std::count(counts, counts + pixels, most_counts);
            }
            written += block.frames.count;
            if (progress) progress(written, info.frames, -1);
        });
    if (written < info.frames) throw Cancelled(fmt::format("stopped: {} was not written", flags.out));
    writer.close_with_truth(truth_file, truth);
    return double(saturated) / (double(pixels) * double(written));
}

std::string localize_command(const SimulateFlags& flags) {
    return fmt::format("glint localize {} -o locs.hdf5{}{}", shell_file(flags.out), as_given(flags.psf),
                       as_given(flags.camera));
}

std::filesystem::path truth_path(const std::filesystem::path& movie) {
    return std::filesystem::path(movie).replace_filename(movie.stem().string() + "_truth.csv");
}

int run(SimulateFlags& flags) {
    if (const std::string extension = lower_extension(flags.out); extension != ".tif" && extension != ".tiff")
        throw OptionError(fmt::format("-o {}: a movie is written as TIFF, to a name that ends in .tif", flags.out));
    const StopFlag& stop = stop_on_signals();
    const std::filesystem::path truth_file = truth_path(flags.out);
    take_defaults(flags);
    SimulateOptions& options = flags.options;
    MovieInfo movie;
    movie.name = flags.out;
    MissingOptions missing;  // take_defaults leaves nothing out but what a calibration alone can give
    const CameraFacts facts = camera_facts(flags.camera, movie, missing);
    note_missing(flags.psf, missing);
    missing.require(flags.out,
                    "glint simulate -o " + shell_file(flags.out) + as_given(flags.psf) + as_given(flags.camera));
    Paths inputs = facts.files;
    for (const std::filesystem::path& file : files_of(flags.psf)) inputs.push_back(file);
    check_outputs({flags.out, truth_file}, if_exists(flags.overwrite), inputs);
    if (flags.blinks && !(*flags.blinks > 0))
        throw OptionError(fmt::format(
            "--blinks {:g}: give more than 0, or leave it out: then each molecule turns on once", *flags.blinks));
    options.blinks = flags.blinks.value_or(0);
    options.pixel_size_nm = facts.pixel_size_nm;
    options.psf = psf_of(flags.psf, facts.pixel_size_nm);
    options.structure = structure_of(flags.structure);
    set_size(flags.size, options);
    std::tie(options.photons_min, options.photons_max) = two_numbers(flags.photons, ':', "--photons", "500:2000");
    options.z_range_nm = to_nm(parse_length(flags.z_range, "--z-range"), facts.pixel_size_nm);
    if (!flags.drift.empty()) options.drift_nm = to_nm(parse_length(flags.drift, "--drift"), facts.pixel_size_nm);

    require_room(flags);

    options.stop = &stop;
    Console console(flags.console);
    if (const std::string text = beyond_calibration(options); !text.empty())
        console.warn(text + ": give a smaller --z-range");
    const Simulation simulation(options, facts.camera);
    require_contrast(facts.camera, options.background);
    const Localizations truth = simulation.truth(0, options.frames);
    const double saturated =
        write_movie(simulation, flags, truth_file, truth, console.progress(flags.out, "frames"), stop);
    console.end_progress();
    if (saturated > 0)
        console.warn(
            fmt::format("{}: {:.2g} % of the pixels are saturated, at {}: a smaller --offset or a larger --gain "
                        "avoids it",
                        flags.out, 100 * saturated, most_counts));
    if (flags.console.json)
        print_json({{"output", flags.out},
                    {"truth", truth_file.string()},
                    {"frames", options.frames},
                    {"molecules", truth.size()},
                    {"localize", localize_command(flags)}});
    else
        Summary()
            .add("frames", with_commas(options.frames))
            .add("spots", with_commas(std::int64_t(truth.size())))
            .add("written", flags.out)
            .add("truth", truth_file.string())
            .add("localize it", localize_command(flags))
            .print();
    return exit_ok;
}

}  // namespace

Command add_simulate(CLI::App& program) {
    const auto flags = std::make_shared<SimulateFlags>();
    SimulateOptions& options = flags->options;
    CLI::App* app = program.add_subcommand("simulate", "A movie with known truth");
    offer_files(
        app->add_option("-o,--output", flags->out, "Movie to write, .tif; the truth goes to NAME_truth.csv beside it")
            ->required(),
        {".tif", ".tiff"});
    app->add_option("--structure", flags->structure, "microtubules, rings or random")
        ->check(CLI::IsMember({"microtubules", "rings", "random"}))
        ->capture_default_str();
    app->add_option("--size", flags->size, "WIDTHxHEIGHT, or one number for a square, px")->capture_default_str();
    app->add_option("--frames", options.frames, "Number of frames")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t(1), std::int64_t(4294967295)));
    app->add_option("--spots", options.spots_per_frame, "Mean number of molecules that are on in a frame")
        ->capture_default_str();
    app->add_option("--photons", flags->photons, "MIN:MAX photons of a molecule in a frame, uniform")
        ->capture_default_str();
    app->add_option("--background", options.background, "Photoelectrons per pixel and frame")->capture_default_str();
    app->add_option("--on-frames", options.on_frames, "Mean time that a molecule is on, frames")->capture_default_str();
    app->add_option(
        "--blinks", flags->blinks,
        "Mean number of times that a molecule turns on, at the same place (default: once, each is another)");
    app->add_option(
        "--drift", flags->drift,
        "The sample drifts, a random walk: RMS distance along x and along y by the last frame, as in 200nm");
    app->add_option("--z-range", flags->z_range,
                    "z is uniform within plus and minus this, for models whose shape depends on z")
        ->capture_default_str();
    app->add_option("--seed", options.seed, "Random seed")->capture_default_str()->check(any_seed());
    app->add_option("--threads", flags->threads, "Threads (default: GLINT_THREADS, or all that may be used)")
        ->check(CLI::Range(1, 4096));
    add_psf_flags(*app, flags->psf);
    add_camera_flags(*app, flags->camera);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(simulate_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
