// Bindings of simulated movies and ROIs; users see glint/simulation.py.
// SPDX-License-Identifier: MIT
#include "glint/simulate.hpp"

#include <fmt/format.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstring>

#include "base/in_order.hpp"
#include "base/system.hpp"
#include "bindings.hpp"
#include "columns.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

struct Simulated {
    std::vector<std::uint16_t> frames;
    Localizations truth;
};

/// Throws OptionError if the frames alone need more memory than there is.
void require_memory(const SimulateOptions& options) {
    const double bytes = 2.0 * options.width * options.height * double(options.frames);
    const auto available = double(memory_bytes("MemAvailable"));
    if (available > 0 && bytes > available)
        throw OptionError(
            fmt::format("{} frames of {}x{} px take {:.3g} GB of memory, of which {:.3g} are free: simulate fewer or "
                        "smaller ones, or write them to a file with `glint simulate`",
                        options.frames, options.width, options.height, bytes / 1e9, available / 1e9));
}

/// Simulates blocks of frames on all threads. The result does not depend on the number of threads.
Simulated make_movie(SimulateOptions options, const Camera& camera, int threads, const Progress& progress,
                     const StopFlag& stop) {
    options.stop = &stop;
    constexpr std::int64_t block_frames = 16;
    const Simulation simulation(options, camera);
    const std::size_t pixels = std::size_t(options.width) * options.height;
    require_memory(options);
    Simulated all;
    all.truth = simulation.truth(0, options.frames);  // first, as it may be too large
    all.frames.resize(pixels * std::size_t(options.frames));
    struct MovieBlock {
        std::int64_t first = 0;
        FrameBlock frames;
    };
    std::int64_t next = 0, done = 0;
    if (threads == 0) threads = environment::threads();
    in_order(
        threads, std::vector<MovieBlock>(std::size_t(2 * threads)),
        [&](MovieBlock& block) {
            block.first = next, next += block_frames;
            return block.first < options.frames && !stop;
        },
        [&](MovieBlock& block) {
            const int count = int(std::min(block_frames, options.frames - block.first));
            simulation.read(block.first, count, block.frames);
            std::memcpy(all.frames.data() + std::size_t(block.first) * pixels, block.frames.bytes.data(),
                        std::size_t(count) * block.frames.frame_bytes());
        },
        [&](const MovieBlock& block) {
            done += block.frames.count;
            if (progress) progress(done, options.frames, -1);
        });
    if (stop) throw Cancelled("the simulation was stopped");
    return all;
}

nb::tuple simulate(const SimulateOptions& options, const Camera& camera, int threads, nb::handle progress) {
    Running running;
    const Progress tell = running.progress(progress);
    Simulated all = running.run([&] { return make_movie(options, camera, threads, tell, *running.stop()); });
    const auto [frames, owner] = kept(std::move(all.frames));
    const std::size_t shape[] = {std::size_t(options.frames), std::size_t(options.height), std::size_t(options.width)};
    return nb::make_tuple(nb::ndarray<nb::numpy, std::uint16_t>(frames->data(), 3, shape, owner),
                          nb::cast(std::move(all.truth)));
}

struct RoisAndTruth {
    Rois rois;
    std::array<std::vector<float>, max_parameters> truth;
};

/// Converts photoelectrons to the counts of the camera, not rounded.
void to_counts(Rois& rois, const Camera& camera) {
    const CameraView view(camera, std::max(rois.size, camera.sensor_width - camera.roi_x),
                          std::max(rois.size, camera.sensor_height - camera.roi_y));
    const int size = rois.size;
    for (std::size_t k = 0; k < rois.pixels.size(); ++k) {
        const std::size_t roi = k / (size * size), row = k / size % size, column = k % size;
        const std::size_t x = rois.x_corner.empty() ? 0 : rois.x_corner[roi],
                          y = rois.y_corner.empty() ? 0 : rois.y_corner[roi];
        const CameraView::Pixel pixel = view.pixel((y + row) * view.width() + x + column);
        rois.pixels[k] = rois.pixels[k] / pixel.factor_e_per_adu + pixel.offset_adu;
    }
}

nb::tuple simulate_stack(const RoiSimulation& options, const Psf& psf, double pixel_size_nm, Camera camera) {
    camera.roi_x = camera.roi_y = 0;  // corners are in sensor coordinates
    Running running;
    const auto [made, owner] = kept(running.run([&] {
        RoisAndTruth all;
        all.rois = simulate_rois(options, psf, pixel_size_nm, camera, all.truth);
        to_counts(all.rois, camera);
        return all;
    }));
    Columns columns(owner);
    for (int k = 0; k < parameter_count(psf.model); ++k) columns.add("theta" + std::to_string(k), made->truth[k]);
    columns.add_if_known("x_corner", made->rois.x_corner);
    columns.add_if_known("y_corner", made->rois.y_corner);
    const std::size_t size = std::size_t(options.size), shape[] = {options.count, size, size};
    made->rois.pixels.reserve(1);  // an empty array needs an address, too
    return nb::make_tuple(nb::ndarray<nb::numpy, float>(made->rois.pixels.data(), 3, shape, owner), columns.take());
}

}  // namespace

void bind_simulate(nb::module_& m) {
    nb::enum_<Structure>(m, "Structure")
        .value("microtubules", Structure::microtubules)
        .value("rings", Structure::rings)
        .value("random", Structure::random)
        .value("beads", Structure::beads);
    nb::class_<SimulateOptions>(m, "SimulateOptions")
        .def(nb::init<>())
        .def_rw("structure", &SimulateOptions::structure)
        .def_rw("psf", &SimulateOptions::psf)
        .def_rw("pixel_size_nm", &SimulateOptions::pixel_size_nm)
        .def_rw("width", &SimulateOptions::width)
        .def_rw("height", &SimulateOptions::height)
        .def_rw("frames", &SimulateOptions::frames)
        .def_rw("spots_per_frame", &SimulateOptions::spots_per_frame)
        .def_rw("photons_min", &SimulateOptions::photons_min)
        .def_rw("photons_max", &SimulateOptions::photons_max)
        .def_rw("background", &SimulateOptions::background)
        .def_rw("on_frames", &SimulateOptions::on_frames)
        .def_rw("blinks", &SimulateOptions::blinks)
        .def_rw("drift_nm", &SimulateOptions::drift_nm)
        .def_rw("z_range_nm", &SimulateOptions::z_range_nm)
        .def_rw("seed", &SimulateOptions::seed);
    nb::class_<RoiSimulation>(m, "RoiSimulation")
        .def(nb::init<>())
        .def_rw("size", &RoiSimulation::size)
        .def_rw("count", &RoiSimulation::count)
        .def_rw("photons_min", &RoiSimulation::photons_min)
        .def_rw("photons_max", &RoiSimulation::photons_max)
        .def_rw("background", &RoiSimulation::background)
        .def_rw("spread_px", &RoiSimulation::spread_px)
        .def_rw("z_range_nm", &RoiSimulation::z_range_nm)
        .def_rw("seed", &RoiSimulation::seed);
    m.def("beyond_calibration", &beyond_calibration, "options"_a);
    m.def("simulate", &simulate, "options"_a, "camera"_a, "threads"_a, "progress"_a.none());
    m.def("simulate_rois", &simulate_stack, "options"_a, "psf"_a, "pixel_size_nm"_a, "camera"_a);
}

}  // namespace glint::python
