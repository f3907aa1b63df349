// Simulation: a movie with known truth and random access to its frames.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "base/arena.hpp"
#include "base/system.hpp"
#include "data/camera_of_movie.hpp"
#include "data/shape_columns.hpp"
#include "glint/error.hpp"
#include "glint/simulate.hpp"
#include "simulate/exposure.hpp"
#include "simulate/random.hpp"
#include "simulate/scene.hpp"

namespace glint {
namespace {

constexpr double max_drifting_frames = 1e8;  // the path of the sample is kept in memory

/// Returns the path of the sample, px by frame: a random walk from 0.
std::vector<std::array<float, 2>> walk(const SimulateOptions& options) {
    if (options.drift_nm <= 0) return {};
    const double steps = std::max(1.0, double(options.frames - 1));
    const double step_px = options.drift_nm / options.pixel_size_nm / std::sqrt(steps);
    std::vector<std::array<float, 2>> way(std::size_t(options.frames), {0, 0});
    Random random(options.seed, Stream::drift, 0);
    double x = 0, y = 0;
    for (std::size_t k = 1; k < way.size(); ++k) {
        throw_if_stopped(options);
        x += step_px * random.normal(), y += step_px * random.normal();
        way[k] = {float(x), float(y)};
    }
    return way;
}

void require_range(const char* what, double value, double low, double high) {
    if (!(value >= low && value <= high))
        throw OptionError(fmt::format("{} {} is outside {} to {}", what, value, low, high));
}

void require(const SimulateOptions& options) {
    check_psf(options.psf, options.pixel_size_nm);
    require_range("a pixel size in nm of", options.pixel_size_nm, 1, 1e5);
    require_range("a movie's width of", options.width, 1, 8192);
    require_range("a movie's height of", options.height, 1, 8192);
    require_range("a number of frames of", double(options.frames), 1, 4294967295.0);
    require_range("a mean number of spots per frame of", options.spots_per_frame, 0, 1e6);
    require_range("a mean on-time in frames of", options.on_frames, 1, 1e4);
    require_range("a background in photoelectrons per pixel of", options.background, 0, 1e6);
    require_range("a mean number of blinks of", options.blinks, 0, 1e6);
    require_range("a drift in nm of", options.drift_nm, 0, 1e6);
    if (options.drift_nm > 0)
        require_range("with drift, a number of frames of", double(options.frames), 1, max_drifting_frames);
    require_range("a range of z in nm of", options.z_range_nm, 0, 1e5);
    require_range("the fewest photons of", options.photons_min, 0, 1e9);
    require_range("the most photons of", options.photons_max, options.photons_min, 1e9);
    if (options.structure != Structure::beads) return;
    if (!describe(options.psf.model).has_z)
        throw OptionError(
            fmt::format("a stack of beads needs a PSF that changes with z, and {} does not: give `na=1.4`, "
                        "`psf=lens.h5` or `calibration=cal.toml`",
                        to_name(options.psf.model)));
    if (options.blinks > 0)
        throw OptionError(fmt::format("beads do not blink: leave the {:g} blinks out", options.blinks));
}

/// Throws OptionError if the expected rows of a truth alone need more than the available memory.
void require_memory(const SimulateOptions& options, std::int64_t frames) {
    // An emission, with memory for sorting, and frame, x, y, photons, bg and a width of its row.
    constexpr double row_bytes = 1.5 * sizeof(Emission) + 6 * sizeof(float);
    const double rows = options.spots_per_frame * double(frames), bytes = rows * row_bytes;
    const auto available = double(memory_bytes("MemAvailable"));
    if (available > 0 && bytes > available)
        throw OptionError(
            fmt::format("{:g} spots per frame in {} frames are {:.3g} rows of truth, which take at least {:.3g} GB of "
                        "memory, of which {:.3g} are free: simulate fewer frames or spots at a time",
                        options.spots_per_frame, frames, rows, bytes / 1e9, available / 1e9));
}

std::optional<double> scalar(const SensorField& field) {
    return field.is_map() ? std::nullopt : std::optional<double>(field.scalar);
}

}  // namespace

std::string beyond_calibration(const SimulateOptions& options) {
    const ZRange range = options.psf.z_range();
    if (!describe(options.psf.model).has_z ||
        (-options.z_range_nm >= range.min_nm && options.z_range_nm <= range.max_nm))
        return "";
    return fmt::format(
        "z from {:g} to {:g} nm reaches beyond the {:g} to {:g} nm of the calibration: widths out there are "
        "extrapolated, and fits find no such z",
        -options.z_range_nm, options.z_range_nm, range.min_nm, range.max_nm);
}

struct Simulation::State {
    SimulateOptions options;
    Camera camera;
    PsfInDouble psf;
    std::unique_ptr<Scene> scene;
    std::optional<BeadStack> beads;
    std::vector<std::array<float, 2>> drift_px;  ///< x, y by frame; empty without drift

    std::vector<Emission> emissions_of(std::int64_t first, std::int64_t count) const {
        if (first < 0 || count < 0 || count > options.frames || first > options.frames - count)
            throw OptionError(
                fmt::format("frames {}:{} asked of a simulation of {}", first, first + count, options.frames));
        std::vector<Emission> on = beads ? beads->emissions(first, count) : emissions(options, *scene, first, count);
        if (drift_px.empty()) return on;
        for (Emission& e : on) {
            const auto [x, y] = drift_px[std::size_t(e.frame)];
            e.place.x_px += x, e.place.y_px += y;
        }
        return on;
    }

    void expose(std::int64_t frame, const std::vector<Emission>& block, std::uint16_t* counts) const {
        std::vector<double> mean(std::size_t(options.width) * options.height, options.background);
        auto on = std::lower_bound(block.begin(), block.end(), frame,
                                   [](const Emission& e, std::int64_t f) { return e.frame < f; });
        for (; on != block.end() && on->frame == frame; ++on)
            add_spot(make_spot(psf, on->place.x_px, on->place.y_px, on->place.z_um, on->photons), options.width,
                     options.height, mean);
        Random random(options.seed, Stream::frame_noise, std::uint64_t(frame));
        expose_frame(camera, options.width, mean, random, counts);
    }
};

Simulation::Simulation(const SimulateOptions& options, const Camera& camera) {
    require(options);
    const CameraView checks_the_camera(camera, options.width, options.height);
    std::optional<BeadStack> beads;
    if (options.structure == Structure::beads) beads.emplace(options);
    Psf psf = options.psf;
    place_in_field(camera, {}, psf);
    state_ = std::make_unique<State>(State{options, camera, PsfInDouble(psf, options.pixel_size_nm),
                                           make_scene(options), std::move(beads), walk(options)});
}

Simulation::~Simulation() = default;

MovieInfo Simulation::info() const {
    MovieInfo info;
    info.name = "simulation";
    info.width = state_->options.width, info.height = state_->options.height;
    info.frames = state_->options.frames;
    info.pixel_size_nm = state_->options.pixel_size_nm;
    info.offset_adu = scalar(state_->camera.offset_adu);
    info.gain_e_per_adu = scalar(state_->camera.gain_e_per_adu);
    if (state_->camera.kind == CameraKind::EMCCD) info.em_gain = state_->camera.em_gain;
    return info;
}

void Simulation::read(std::int64_t first, int count, FrameBlock& block) const {
    const std::vector<Emission> on = state_->emissions_of(first, count);
    block.first_frame = first, block.count = count;
    block.width = state_->options.width, block.height = state_->options.height;
    block.type = PixelType::uint16;
    block.bytes.resize(block.frame_bytes() * std::size_t(count));
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    const std::size_t frame_pixels = std::size_t(block.width) * block.height;
    in_own_arena([&] {
        tbb::parallel_for(0, count,
                          [&](int k) { state_->expose(first + k, on, counts + std::size_t(k) * frame_pixels); });
    });
}

Localizations Simulation::truth(std::int64_t first, std::int64_t count) const {
    require_memory(state_->options, count);
    std::vector<std::vector<double>> shapes(shape_parameters_of(state_->options.psf.model).size());
    Localizations truth;
    for (const Emission& on : state_->emissions_of(first, count)) {
        truth.frame.push_back(std::uint32_t(on.frame));
        truth.x_px.push_back(float(on.place.x_px));
        truth.y_px.push_back(float(on.place.y_px));
        truth.photons.push_back(float(on.photons));
        truth.bg.push_back(float(state_->options.background));
        if (on.molecule >= 0) truth.extra["molecule"].values.push_back(double(on.molecule));
        if (!state_->drift_px.empty()) {
            const auto [x, y] = state_->drift_px[std::size_t(on.frame)];
            truth.extra["drift_x_nm"].values.push_back(x * state_->options.pixel_size_nm);
            truth.extra["drift_y_nm"].values.push_back(y * state_->options.pixel_size_nm);
        }
        double shape[max_shape_parameters];
        state_->psf.typical_shape(on.place.z_um, shape);
        for (std::size_t k = 0; k < shapes.size(); ++k) shapes[k].push_back(shape[k]);
    }
    if (truth.extra.contains("molecule")) truth.extra["molecule"].is_integer = true;
    fill_shape<double>(truth, state_->options.psf, state_->options.pixel_size_nm, shapes);
    truth.width = state_->options.width, truth.height = state_->options.height;
    truth.frames = state_->options.frames;
    truth.pixel_size_nm = state_->options.pixel_size_nm;
    return truth;
}

}  // namespace glint
