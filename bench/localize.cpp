// `glint bench localize`: frames per second from a movie file to a localization file.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "base/arena.hpp"
#include "bench/bench.hpp"
#include "bench/localize_stages.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/print.hpp"
#include "glint/error.hpp"
#include "glint/localize.hpp"
#include "glint/movie_io.hpp"
#include "glint/simulate.hpp"

namespace glint::cli {
namespace {

constexpr const char* help_footer = R"(
Examples:
  glint bench localize --frames 1000
  glint bench localize --frames 20 --density 0.01                            crowded: 2,600 molecules a frame
  glint bench localize --frames 20000 --backend gpu                          10.5 GB
  glint bench localize --frames 5000 --size 1024 --spots 200 --backend gpu   10.5 GB

Simulates a uint16 movie of random molecules (500 to 2000 photons, background 10 e-/px, sigma 1.3 px, gain 0.5 e-/ADU,
read noise 1.5 e-) in a temporary folder, which is removed at the end. The movie repeats 256 different frames. Localizes
the movie (GaussianXYNB, ROI 7) several times and prints the best rate. Then times each stage alone: the slowest of the
consecutive stages limits the run. With --backend gpu the CPU's rate is measured on the first --cpu-frames frames.)";

struct BenchLocalizeFlags {
    int size = 512, repeats = 3, threads = 0;
    std::int64_t frames = 500, cpu_frames = 500;
    double spots = 50, density = 0;
    int emitters = LocalizeOptions().fit.emitters;
    std::string backend = "cpu";
    std::filesystem::path folder;
    ConsoleFlags console;
};

std::filesystem::path default_folder() {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    if (error) throw OutputError(fmt::format("TMPDIR names no folder ({}); give --folder", error.message()));
    return folder;
}

/// A temporary folder; the destructor removes it.
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
    p.sigma_nm = 130;
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

/// Writes a few simulated frames repeatedly, because simulating takes longer than localizing.
void write_movie(const std::filesystem::path& path, const BenchLocalizeFlags& flags) {
    constexpr std::int64_t different = 256;
    SimulateOptions options;
    options.structure = Structure::random;
    options.psf = psf();
    options.width = options.height = flags.size;
    options.frames = std::min(flags.frames, different);
    options.spots_per_frame = flags.spots;
    const Simulation simulation(options, camera());
    std::vector<FrameBlock> blocks(std::size_t((options.frames + 15) / 16));
    const auto simulate_block = [&](std::size_t k) {
        const std::int64_t first = std::int64_t(k) * 16;
        simulation.read(first, int(std::min<std::int64_t>(16, options.frames - first)), blocks[k]);
    };
    in_own_arena([&] { tbb::parallel_for(std::size_t(0), blocks.size(), simulate_block); });
    MovieInfo info = simulation.info();
    info.frames = flags.frames;
    TiffMovieWriter writer(path, info);
    for (std::int64_t written = 0, k = 0; written < flags.frames; ++k) {
        FrameBlock& block = blocks[std::size_t(k) % blocks.size()];
        block.count = int(std::min<std::int64_t>(block.count, flags.frames - written));
        writer.append(block);
        written += block.count;
    }
    writer.close();
}

LocalizeOptions options_of(const BenchLocalizeFlags& flags, Backend backend) {
    LocalizeOptions options;
    options.psf = psf();
    options.pixel_size_nm = 100;
    options.roi_size = 7;
    options.fit.emitters = flags.emitters;
    options.threads = flags.threads;
    options.backend = backend;
    return options;
}

LocalizeResult best_run(const std::filesystem::path& movie_path, const std::filesystem::path& folder,
                        const LocalizeOptions& options, int repeats) {
    LocalizeResult best;
    const auto out = folder / "locs.hdf5";
    for (int k = 0; k < repeats; ++k) {
        LocalizeOptions again = options;
        again.overwrite = true;
        const auto movie = open_movie(movie_path);
        const LocalizeResult result = localize(*movie, camera(), out, again);
        if (k == 0 || result.seconds < best.seconds) best = result;
    }
    return best;
}

double rate(const LocalizeResult& run) { return double(run.frames) / run.seconds; }

double found_rate(const LocalizeResult& run) { return double(run.localizations) / run.seconds; }

nlohmann::ordered_json as_json(const LocalizeResult& run) {
    return {{"device", run.fit.device},
            {"threads", run.fit.threads},
            {"frames", run.frames},
            {"localizations", run.localizations},
            {"seconds", run.seconds},
            {"frames_per_s", rate(run)},
            {"localizations_per_s", found_rate(run)}};
}

int run(BenchLocalizeFlags flags) {
    if (flags.frames < 1 || flags.repeats < 1 || flags.cpu_frames < 1)
        throw OptionError("--frames, --cpu-frames and --repeats must be 1 or more");
    const bool with_gpu = flags.backend == "gpu";
    if (flags.density > 0) flags.spots = flags.density * flags.size * flags.size;
    const TemporaryFolder folder(flags.folder.empty() ? default_folder() : flags.folder);
    const auto movie = folder.path / "movie.tif";
    write_movie(movie, flags);
    LocalizeOptions on_cpu = options_of(flags, Backend::cpu);
    if (with_gpu) on_cpu.frames = {0, std::min(flags.frames, flags.cpu_frames)};
    LocalizeOptions by_one = on_cpu;
    by_one.threads = 1;
    const LocalizeResult one = best_run(movie, folder.path, by_one, with_gpu ? 1 : flags.repeats);
    const LocalizeResult all = flags.threads == 1 ? one : best_run(movie, folder.path, on_cpu, flags.repeats);
    std::optional<LocalizeResult> gpu;
    if (with_gpu) gpu = best_run(movie, folder.path, options_of(flags, Backend::gpu), flags.repeats);
    std::vector<StageRate> stages = cpu_stages(movie, camera(), options_of(flags, Backend::cpu), folder.path);
    if (with_gpu)
        for (StageRate& stage : gpu_stages(movie, camera(), options_of(flags, Backend::gpu)))
            stages.push_back(std::move(stage));
    if (flags.console.json) {
        nlohmann::ordered_json json{{"width", flags.size},
                                    {"height", flags.size},
                                    {"frames", flags.frames},
                                    {"spots_per_frame", flags.spots},
                                    {"localizations", all.localizations},
                                    {"device", all.fit.device},
                                    {"threads", all.fit.threads},
                                    {"frames_per_s", rate(all)},
                                    {"localizations_per_s", found_rate(all)},
                                    {"localizations_per_s_of_one_core", found_rate(one)},
                                    {"emitters", flags.emitters == any_emitters ? "auto" : "1"},
                                    {"speedup_vs_one_core", rate(all) / rate(one)}};
        if (gpu) json["gpu"] = as_json(*gpu);
        for (const StageRate& stage : stages) json["stages"][stage.stage] = stage.frames_per_s;
        print_json(json);
        return exit_ok;
    }
    Summary summary;
    summary.add("movie", fmt::format("{} frames of {}x{} uint16, {} spots a frame", with_commas(flags.frames),
                                     flags.size, flags.size, flags.spots));
    summary.add("localizations", with_commas((gpu ? *gpu : all).localizations));
    if (gpu)
        summary.add("GPU frames/s", fmt::format("{} ({}, {} threads)", with_commas(std::int64_t(rate(*gpu))),
                                                gpu->fit.device, gpu->fit.threads));
    summary.add("frames/s", fmt::format("{:.0f} ({} threads, {})", rate(all), all.fit.threads, all.fit.device));
    summary.add("localizations/s", fmt::format("{}; {} with one thread", with_commas(std::int64_t(found_rate(all))),
                                               with_commas(std::int64_t(found_rate(one)))));
    summary.add("speed-up", fmt::format("{:.2f} over one thread", rate(all) / rate(one)));
    summary.print();
    put("\n{:<28}{:>12}\n", "each stage alone", "frames/s");
    for (const StageRate& stage : stages)
        put("{:<28}{:>12}  {}\n", stage.stage, with_commas(std::int64_t(stage.frames_per_s)), stage.by);
    return exit_ok;
}

}  // namespace

Command add_bench_localize(CLI::App& bench) {
    const auto flags = std::make_shared<BenchLocalizeFlags>();
    CLI::App* app = bench.add_subcommand("localize", "Frames per second from a movie file to a localization file");
    app->add_option("--frames", flags->frames, "Frames of the movie")->capture_default_str();
    app->add_option("--density", flags->density, "Molecules per pixel, in place of --spots: 0.01 is crowded")
        ->check(CLI::Range(1e-6, 1.0));
    offer_words(app->add_option("--emitters", flags->emitters, "As of `glint localize`: 1 or auto")
                    ->transform(CLI::CheckedTransformer(std::map<std::string, int>{{"1", 1}, {"auto", any_emitters}}))
                    ->default_str("auto"),
                {"auto", "1"});
    app->add_option("--backend", flags->backend, "gpu: time a GPU too")
        ->check(CLI::IsMember({"cpu", "gpu"}))
        ->capture_default_str();
    app->add_option("--cpu-frames", flags->cpu_frames, "Frames that the CPU localizes beside a GPU's run")
        ->capture_default_str();
    app->add_option("--size", flags->size, "Width and height of a frame, px")->capture_default_str();
    app->add_option("--spots", flags->spots, "Molecules that are on in a frame")->capture_default_str();
    app->add_option("--repeats", flags->repeats, "Runs of which the best counts")->capture_default_str();
    app->add_option("--threads", flags->threads, "0: GLINT_THREADS, or all that may be used")->capture_default_str();
    offer_folders(
        app->add_option("--folder", flags->folder, "Where the temporary folder is made (default: TMPDIR, or /tmp)"));
    add_console_flags(*app, flags->console);
    app->footer(help_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
