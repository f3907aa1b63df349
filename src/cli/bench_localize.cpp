// `glint bench localize`: frames per second from a movie file to a localization file.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/bench.hpp"
#include "cli/console.hpp"
#include "glint/error.hpp"
#include "glint/localize.hpp"
#include "glint/movie_io.hpp"
#include "glint/simulate.hpp"

namespace glint::cli {
namespace {

constexpr const char* help_footer = R"(
Example:
  glint bench localize --frames 1000 --spots 50 --size 512

Simulates a uint16 movie of random molecules (500 to 2000 photons, background 10 e-/px, sigma 1.3 px, gain 0.5 e-/ADU, read
noise 1.5 e-) into a temporary folder and localizes it (GaussianXYNB, ROI 7), the best of several runs. The folder is
removed.)";

struct BenchLocalizeFlags {
    int size = 512, repeats = 3, threads = 0;
    std::int64_t frames = 500;
    double spots = 50;
    std::filesystem::path folder = std::filesystem::temp_directory_path();
    ConsoleFlags console;
};

/// A folder that goes when this goes.
struct TemporaryFolder {
    std::filesystem::path path;
    explicit TemporaryFolder(const std::filesystem::path& parent)
        : path(parent / fmt::format("glint-bench-{}", getpid())) {
        std::error_code error;
        std::filesystem::create_directories(path, error);
        if (error) throw OutputError(fmt::format("{}: {}; give another --folder", path.string(), error.message()));
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
};

Psf psf() {
    Psf p;
    p.sigma_um = 0.13;
    return p;
}

Camera camera() {
    Camera c;
    c.kind = CameraKind::SCMOS;
    c.offset_adu.scalar = 100;
    c.gain_e_per_adu.scalar = 0.5f;
    c.readnoise_e.scalar = 1.5f;
    return c;
}

void write_movie(const std::filesystem::path& path, const BenchLocalizeFlags& flags) {
    SimulateOptions options;
    options.structure = Structure::random;
    options.psf = psf();
    options.width = options.height = flags.size;
    options.frames = flags.frames;
    options.spots_per_frame = flags.spots;
    const Simulation simulation(options, camera());
    TiffMovieWriter writer(path, simulation.info());
    FrameBlock block;
    for (std::int64_t first = 0; first < flags.frames; first += 16) {
        simulation.read(first, int(std::min<std::int64_t>(16, flags.frames - first)), block);
        writer.append(block);
    }
    writer.close();
}

LocalizeResult best_run(const std::filesystem::path& movie_path, const std::filesystem::path& folder, int threads,
                        int repeats) {
    LocalizeResult best;
    for (int k = 0; k < repeats; ++k) {
        LocalizeOptions options;
        options.psf = psf();
        options.pixel_size_nm = 100;
        options.threads = threads;
        const auto movie = open_movie(movie_path);
        const auto out = folder / fmt::format("locs-{}-{}.hdf5", threads, k);
        const LocalizeResult result = localize(*movie, camera(), out, options);
        if (k == 0 || result.seconds < best.seconds) best = result;
    }
    return best;
}

int run(const BenchLocalizeFlags& flags) {
    if (flags.frames < 1 || flags.repeats < 1) throw OptionError("--frames and --repeats must be 1 or more");
    const TemporaryFolder folder(flags.folder);
    const auto movie = folder.path / "movie.tif";
    write_movie(movie, flags);
    const LocalizeResult one = best_run(movie, folder.path, 1, flags.repeats);
    const LocalizeResult all = flags.threads == 1 ? one : best_run(movie, folder.path, flags.threads, flags.repeats);
    const double rate = double(all.frames) / all.seconds;
    if (flags.console.json) {
        print_json({{"width", flags.size},
                    {"height", flags.size},
                    {"frames", all.frames},
                    {"spots_per_frame", flags.spots},
                    {"localizations", all.localizations},
                    {"device", all.fit.device},
                    {"threads", all.fit.threads},
                    {"frames_per_s", rate},
                    {"speedup_vs_one_core", one.seconds / all.seconds}});
        return exit_ok;
    }
    Summary()
        .add("movie", fmt::format("{} frames of {}x{} uint16, {} spots a frame", all.frames, flags.size, flags.size,
                                  flags.spots))
        .add("localizations", with_commas(all.localizations))
        .add("frames/s", fmt::format("{:.0f} ({} threads, {})", rate, all.fit.threads, all.fit.device))
        .add("speed-up", fmt::format("{:.2f} over one thread", one.seconds / all.seconds))
        .print();
    return exit_ok;
}

}  // namespace

Command add_bench_localize(CLI::App& bench) {
    const auto flags = std::make_shared<BenchLocalizeFlags>();
    CLI::App* app = bench.add_subcommand("localize", "Frames per second from a movie file to a localization file");
    app->add_option("--frames", flags->frames, "Frames of the movie")->capture_default_str();
    app->add_option("--size", flags->size, "Width and height of a frame, px")->capture_default_str();
    app->add_option("--spots", flags->spots, "Molecules that are on in a frame")->capture_default_str();
    app->add_option("--repeats", flags->repeats, "Runs of which the best counts")->capture_default_str();
    app->add_option("--threads", flags->threads, "0: GLINT_THREADS, or all that may be used")->capture_default_str();
    app->add_option("--folder", flags->folder, "Where the temporary folder is made")->capture_default_str();
    add_console_flags(*app, flags->console);
    app->footer(help_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
