// `glint bench fit`: fits per second and std/CRLB, by model, camera and ROI size.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "bench/bench.hpp"
#include "bench/fit.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/print.hpp"
#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "glint/fit.hpp"
#include "glint/simulate.hpp"
#include "psf/astigmatic_table.hpp"

namespace glint::cli {
namespace {

constexpr const char* help_footer = R"(
Examples:
  glint bench fit
  glint bench fit --model GaussianXYNB --camera ideal --roi 7 --threads 1 --json
  glint bench fit --gpus all

Spots are simulated with known truth: 500 to 1000 photons (GaussianXYNB), 1000 to 2000 (free widths), 2000 to 4000 (z
within 0.4 um), twice that on the EMCCD; background 10 e-/px; sigma 1.3 px. std/CRLB is the spread of the error over the
CRLB at the true parameters, without fits that miss x or y by more than 1 px: those are counted as outliers. Times are
the best of several calls, from photoelectrons in memory to every output in memory. On a GPU:
  fits/s    from counts in page-locked memory to every output in page-locked memory
  pageable  the same from ordinary memory
  kernel    with the ROIs on the GPU already
  link      the share of the rate at which the same bytes go up and come back without a fit

With --gpus 4 or all, the rows are of one large stack (GaussianXYNB, 7 px, 16 bit, ideal camera) that is spread over 1,
2, 4, ... GPUs, from page-locked memory:
  link      the same share, with the links of all GPUs in use simultaneously
  apart     how much the GPUs' parts of the stack differ in size)";

/// A camera with read noise from 1.0 to 2.0 e- over the sensor, and 10 e- in one pixel in a hundred.
Camera scmos_camera(const std::string& file) {
    if (!file.empty()) return read_camera(file).camera;
    Camera camera;
    camera.kind = CameraKind::SCMOS;
    camera.sensor_width = camera.sensor_height = 200;
    for (int k = 0; k < 200 * 200; ++k)
        camera.readnoise_e.map.push_back(k % 97 == 13 ? 10.0f : 1.0f + float(k * 61 % 101) / 100);
    return camera;
}

Camera camera_named(const std::string& name, const std::string& scmos_file) {
    if (name == "ideal") return {};
    if (name == "sCMOS") return scmos_camera(scmos_file);
    if (name != "EMCCD") throw OptionError(fmt::format("--camera {}: there are ideal, sCMOS and EMCCD", name));
    Camera camera;
    camera.kind = CameraKind::EMCCD;
    camera.em_gain = 100;
    camera.readnoise_e.scalar = 50;
    return camera;
}

}  // namespace

Psf bench_psf(PsfModel model) {
    Psf psf;
    psf.model = model;
    psf.sigma_nm = 130;
    psf.curve = {130, 130, 200, 400, 0, 0, 0, 0, -600, 600};
    if (describe(model).has_table) {
        const int planes = describe(model).has_z ? 27 : 1;
        psf.table = make_astigmatic_table(psf.curve, bench_pixel_nm, {planes, 35, 35, 1}, 1);
    }
    return psf;
}

RoiSimulation bench_spots(const Conditions& c, const BenchFitFlags& flags) {
    RoiSimulation s;
    s.size = c.size;
    s.count = flags.count;
    s.background = flags.background;
    const double least = parameter_count(c.model) == 4 ? 500 : describe(c.model).has_z ? 2000 : 1000;
    s.photons_min = least * c.camera.excess_noise();
    s.photons_max = 2 * s.photons_min;
    return s;
}

Accuracy accuracy(const Rois& rois, const Psf& psf, const Fits& fits, const Truth& truth) {
    FitOptions at_truth;
    at_truth.backend = Backend::cpu, at_truth.max_iterations = 1;
    for (int k = 0; k < parameter_count(psf.model); ++k) at_truth.start[k] = truth[k];
    const Fits bound = fit(rois, psf, bench_pixel_nm, at_truth);
    std::vector<std::size_t> near;
    for (std::size_t i = 0; i < fits.count(); ++i)
        if (std::max(std::abs(fits.theta[0][i] - truth[0][i]), std::abs(fits.theta[1][i] - truth[1][i])) <= 1)
            near.push_back(i);
    Accuracy out;
    out.outliers = fits.count() - near.size();
    for (int k = 0; k < parameter_count(psf.model); ++k) {
        double sum = 0, squares = 0;
        for (std::size_t i : near) {
            const double e = bound.crlb[k][i] > 0 ? (fits.theta[k][i] - truth[k][i]) / bound.crlb[k][i] : 0;
            sum += e, squares += e * e;
        }
        const double n = double(std::max<std::size_t>(near.size(), 1)), mean = sum / n;
        const std::string name(parameter_names(psf.model)[k]);
        out.std_over_crlb[name] = std::sqrt(std::max(0.0, squares / n - mean * mean));
        out.bias_over_crlb[name] = mean;
    }
    return out;
}

namespace {

/// Returns the best time of several calls.
double seconds_of(const Rois& rois, const Psf& psf, int threads, int repeats, Fits& fits, FitInfo& info) {
    FitOptions options;
    options.backend = Backend::cpu, options.threads = threads;
    double best = 1e300;
    for (int k = 0; k < repeats; ++k) {
        fits = fit(rois, psf, bench_pixel_nm, options, &info);
        best = std::min(best, info.seconds);
    }
    return best;
}

double share_of(const Fits& fits, FitStatus status) {
    return double(std::count(fits.status.begin(), fits.status.end(), status)) / double(fits.count());
}

nlohmann::ordered_json measure(const Conditions& c, const BenchFitFlags& flags) {
    const Psf psf = bench_psf(c.model);
    Truth truth;
    const Rois rois = simulate_rois(bench_spots(c, flags), psf, bench_pixel_nm, c.camera, truth);
    Fits fits;
    FitInfo info;
    const double first_s = seconds_of(rois, psf, flags.threads, 1, fits, info);
    const double one_core_s = seconds_of(rois, psf, 1, flags.repeats, fits, info);
    const double best_s =
        flags.threads == 1 ? one_core_s : seconds_of(rois, psf, flags.threads, flags.repeats, fits, info);
    const Accuracy errors = accuracy(rois, psf, fits, truth);
    double iterations = 0;
    for (auto n : fits.iterations) iterations += n;
    const double n = double(fits.count());
    const auto small_p = std::count_if(fits.p_value.begin(), fits.p_value.end(), [](float p) { return p < 0.01f; });
    return {{"model", to_name(c.model)},
            {"camera", c.camera_name},
            {"device", info.device},
            {"roi", c.size},
            {"dtype", "float32"},
            {"fits_per_s", n / best_s},
            {"kernel_fits_per_s", nullptr},
            {"first_call_s", first_s},
            {"iterations", iterations / n},
            {"converged", share_of(fits, FitStatus::converged)},
            {"std_over_crlb", errors.std_over_crlb},
            {"bias_over_crlb", errors.bias_over_crlb},
            {"outliers", errors.outliers},
            {"p_below_0.01", double(small_p) / n},
            {"fits", fits.count()},
            {"threads", info.threads},
            {"speedup_vs_one_core", one_core_s / best_s}};
}

void print_header() {
    put("{:<17} {:<6} {:<11} {:>3} {:>7} {:>10} {:>10} {:>10} {:>5} {:>8} {:>5} {:>9} {:>7}  {}\n", "model", "camera",
        "device", "roi", "dtype", "fits/s", "pageable", "kernel", "link", "speed-up", "iter", "converged", "p<0.01",
        "std/CRLB (outliers)");
}

void print_row(const nlohmann::ordered_json& row) {
    std::string ratios;
    for (const auto& [name, value] : row["std_over_crlb"].items())
        ratios += fmt::format("{} {:.3f} ", name, value.get<double>());
    const auto number = [&](const char* key, const char* format) {
        const auto value = row.find(key);
        return value == row.end() || value->is_null() ? "-" : fmt::format(fmt::runtime(format), value->get<double>());
    };
    put("{:<17} {:<6} {:<11} {:>3} {:>7} {:>10.3g} {:>10} {:>10} {:>5} {:>8.2f} {:>5.2f} {:>8.2f}% {:>6.2f}%  {}({})\n",
        row["model"].get<std::string>(), row["camera"].get<std::string>(), row["device"].get<std::string>(),
        row["roi"].get<int>(), row["dtype"].get<std::string>(), row["fits_per_s"].get<double>(),
        number("pageable_fits_per_s", "{:.3g}"), number("kernel_fits_per_s", "{:.3g}"), number("link_share", "{:.2f}"),
        row["speedup_vs_one_core"].get<double>(), row["iterations"].get<double>(), 100 * row["converged"].get<double>(),
        100 * row["p_below_0.01"].get<double>(), ratios, row["outliers"].get<std::size_t>());
    require_results();  // ends the benchmark when stdout is closed
}

/// Returns null if only the CPU is measured.
std::unique_ptr<GpuBench> open_gpu(const BenchFitFlags& flags) {
    if (backend_of(flags.backend) == Backend::cpu) return nullptr;
    try {
        return std::make_unique<GpuBench>(flags);
    } catch (const gpu::GpuError& error) {
        if (backend_of(flags.backend) == Backend::gpu) throw;
        tell("glint: the CPU alone: {}\n", error.what());
        return nullptr;
    }
}

int run(const BenchFitFlags& flags) {
    if (flags.count < 1) throw OptionError("--count 0: give at least one fit");
    if (flags.repeats < 1) throw OptionError("--repeats 0: give at least one");
    if (gpu_count(flags.backend) != 1) return bench_fit_gpus(flags);
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    const std::unique_ptr<GpuBench> gpu = open_gpu(flags);
    if (!flags.console.json) print_header();
    const auto add = [&](nlohmann::ordered_json row) {
        rows.push_back(std::move(row));
        if (!flags.console.json) print_row(rows.back());
    };
    for (const std::string& model : flags.models)
        for (const std::string& camera : flags.cameras)
            for (int size : flags.sizes) {
                const Conditions c{parse_psf_model(model), camera, camera_named(camera, flags.camera_file), size};
                add(measure(c, flags));
                if (!gpu) continue;
                const nlohmann::ordered_json cpu = rows.back();
                for (const PixelType type : {PixelType::float32, PixelType::uint16}) add(gpu->measure(c, type, cpu));
            }
    if (flags.console.json) print_json(rows);
    return exit_ok;
}

}  // namespace

Command add_bench_fit(CLI::App& bench) {
    const auto flags = std::make_shared<BenchFitFlags>();
    CLI::App* app = bench.add_subcommand("fit", "Fits per second and std/CRLB, by model, camera and ROI size");
    for (const PsfModel model : psf_models()) flags->models.emplace_back(to_name(model));
    offer_words(app->add_option("--model", flags->models, "PSF models")->capture_default_str(), flags->models);
    offer_words(app->add_option("--camera", flags->cameras, "Cameras: ideal, sCMOS, EMCCD")->capture_default_str(),
                flags->cameras);
    offer_files(
        app->add_option("--camera-file", flags->camera_file, "camera.toml with the maps to use as the sCMOS camera"),
        toml_endings);
    app->add_option("--roi", flags->sizes, "ROI sizes, px")->capture_default_str();
    app->add_option("--count", flags->count, "Fits in a call")->capture_default_str();
    app->add_option("--background", flags->background, "e-/px")->capture_default_str();
    app->add_option("--repeats", flags->repeats, "Calls of which the best counts")->capture_default_str();
    app->add_option("--threads", flags->threads, "0: all cores")->capture_default_str();
    app->add_option("--gpu-bytes", flags->gpu_bytes, "Pixels that a GPU fits in a call: the spots, again and again")
        ->transform(CLI::AsSizeValue(false))
        ->default_str("1GiB");
    app->add_option("--gpus-bytes", flags->gpus_bytes,
                    "The same with --gpus, of all; as much memory again is for results")
        ->transform(CLI::AsSizeValue(false))
        ->default_str("19.6GB, 2e8 fits");
    add_backend_flags(*app, flags->backend);
    add_stack_flags(*app, flags->backend);
    add_console_flags(*app, flags->console);
    app->footer(help_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
