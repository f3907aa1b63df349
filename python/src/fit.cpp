// Bindings of fits of ROIs in Python's memory; users see glint/fits.py.
// SPDX-License-Identifier: MIT
#include "glint/fit.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.hpp"
#include "columns.hpp"
#include "data/camera_of_movie.hpp"
#include "fit/fit_info.hpp"
#include "fit/fit_setup.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/limit.hpp"
#include "glint/localizations.hpp"
#include "glint/localize.hpp"
#include "glint/version.hpp"
#include "gpu/foreign.hpp"
#include "objects.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

/// (n, S, S), on the host or on a GPU; may be read-only.
using Pixels = nb::ndarray<nb::ro, nb::ndim<3>, nb::c_contig>;

/// Waits for pixels on a GPU, whose producer has ordered the default stream after its work. Returns the GPU, or -1.
int gpu_of(const Pixels& pixels) {
    if (pixels.device_type() == nb::device::cpu::value) return -1;
    if (pixels.device_type() != nb::device::cuda::value) throw OptionError("ROIs lie on the host or on an NVIDIA GPU");
    gpu::wait_for_default_stream(pixels.device_id());
    return pixels.device_id();
}

PixelType type_of(const Pixels& pixels) {
    if (pixels.dtype() == nb::dtype<std::uint8_t>()) return PixelType::uint8;
    if (pixels.dtype() == nb::dtype<std::uint16_t>()) return PixelType::uint16;
    if (pixels.dtype() == nb::dtype<float>()) return PixelType::float32;
    throw OptionError("ROIs are uint8, uint16 or float32");
}

/// The input of a fit: views of Python's arrays, which the caller keeps alive.
struct Stack {
    Pixels pixels;
    std::optional<Vector<std::int32_t>> x_corner, y_corner;
    std::vector<Vector<float>> start;                 ///< empty, x and y, or one column per parameter
    std::optional<Camera> camera;                     ///< without one the pixels are photoelectrons
    float variance_e2 = 0, excess_noise = 1, qe = 1;  ///< without a camera
    int gpu = -1;                                     ///< GPU that holds the pixels; -1: the host
};

/// Returns the bytes of "1GiB" or "25%", a share of the first usable GPU's memory.
std::uint64_t gpu_memory(const std::string& text) {
    std::uint64_t total = std::uint64_t(1) << 40;  // without a GPU, the text is only checked
    if (text.find('%') != std::string::npos)
        for (const gpu::Device& device : gpu::inventory().devices)
            if (device.why_not.empty()) {
                total = device.total_bytes;
                break;
            }
    return gpu::parse_limit(text, total, "gpu_memory");
}

template <class T>
std::span<const T> span_of(const Vector<T>& array) {
    return {array.data(), array.size()};
}

/// Returns the part of the sensor from the movie's first pixel on.
std::optional<CameraView> view_of(const Stack& stack) {
    if (!stack.camera) return {};
    const int size = int(stack.pixels.shape(1));
    const int width = stack.camera->sensor_width - stack.camera->roi_x;
    const int height = stack.camera->sensor_height - stack.camera->roi_y;
    return CameraView(*stack.camera, std::max(width, size), std::max(height, size));
}

RoiView view_of(const Stack& stack, const std::optional<CameraView>& camera) {
    RoiView rois;
    rois.size = int(stack.pixels.shape(1)), rois.count = stack.pixels.shape(0);
    rois.type = type_of(stack.pixels), rois.pixels = static_cast<const std::byte*>(stack.pixels.data());
    rois.gpu = stack.gpu, rois.camera = camera ? &*camera : nullptr;
    if (stack.x_corner) rois.x_corner = span_of(*stack.x_corner);
    if (stack.y_corner) rois.y_corner = span_of(*stack.y_corner);
    if (stack.start.size() == 2) rois.x_start = span_of(stack.start[0]), rois.y_start = span_of(stack.start[1]);
    if (!camera)
        rois.variance_scalar = stack.variance_e2, rois.excess_noise = stack.excess_noise, rois.qe_scalar = stack.qe;
    return rois;
}

/// Returns the columns, the FitInfo, and a warning if many fits ended at the bound of z, or "".
nb::tuple fit_stack(Fitter& fitter, const Stack& stack, const Psf& psf, double pixel_size_nm, FitOptions options,
                    nb::handle progress, nb::handle on_wait, nb::handle log) {
    const std::optional<CameraView> camera = view_of(stack);
    const RoiView rois = view_of(stack, camera);
    if (stack.start.size() > 2)
        for (std::size_t k = 0; k < stack.start.size(); ++k) options.start[k] = span_of(stack.start[k]);
    Running running;
    options.stop = running.stop();
    options.progress = running.progress(progress);
    options.on_wait = running.on_wait(on_wait);
    options.log = running.text(log);
    FitInfo info;
    Psf placed = psf;
    if (stack.camera) place_in_field(*stack.camera, {}, placed);
    Fits fits = running.run([&] { return fitter.fit(rois, placed, pixel_size_nm, options, &info); });
    const std::string warning = z_bound_warning(psf, count_at_z_bound(fits, psf), std::int64_t(fits.count()));
    return nb::make_tuple(columns_of(std::move(fits)), dict_of(info), in_python(warning));
}

/// Does the checks of fit_stack().
void check_fit(const Stack& stack, const Psf& psf, double pixel_size_nm, const FitOptions& options) {
    check(view_of(stack, view_of(stack)), psf, pixel_size_nm, options);
}

/// Sets the movie's properties and the table's history.
void describe_fits(Localizations& table, const Rois& rois, const Psf& psf) {
    const auto extent = [&](const std::vector<std::int32_t>& corners) {
        return rois.size + (corners.empty() ? 0 : *std::max_element(corners.begin(), corners.end()));
    };
    table.width = extent(rois.x_corner), table.height = extent(rois.y_corner);
    for (std::uint32_t frame : table.frame) table.frames = std::max(table.frames, std::int64_t(frame) + 1);
    table.history = {"Generated by: glint " + version() + " fit\nFit method: " + std::string(to_name(psf.model)) +
                     "\nBox Size: " + std::to_string(rois.size) + "\n"};
}

template <class T>
void fill(std::vector<T>& to, const nb::dict& columns, const std::string& name) {
    to = vector_of(nb::cast<Vector<T>>(columns[name.c_str()]));
}

/// The inverse of columns_of().
Fits fits_of(const nb::dict& columns, PsfModel model) {
    Fits fits;
    fits.model = model;
    for (int k = 0; k < parameter_count(model); ++k) {
        fill(fits.theta[k], columns, "theta" + std::to_string(k));
        fill(fits.crlb[k], columns, "crlb" + std::to_string(k));
    }
    fill(fits.log_likelihood_ratio, columns, "log_likelihood");
    fill(fits.p_value, columns, "p_value");
    fill(fits.iterations, columns, "iterations");
    for (std::uint8_t status : vector_of(nb::cast<Vector<std::uint8_t>>(columns["status"])))
        fits.status.push_back(FitStatus(status));
    if (columns.contains("emitters")) fill(fits.emitters, columns, "emitters");
    return fits;
}

Localizations localizations_of(const nb::dict& columns, const std::optional<Vector<std::int32_t>>& x_corner,
                               const std::optional<Vector<std::int32_t>>& y_corner, const Vector<std::uint32_t>& frame,
                               const Psf& psf, double pixel_size_nm, int roi_size) {
    Rois rois;
    rois.size = roi_size, rois.frame = vector_of(frame);
    if (x_corner) rois.x_corner = vector_of(*x_corner);
    if (y_corner) rois.y_corner = vector_of(*y_corner);
    Localizations table = to_localizations(fits_of(columns, psf.model), rois, psf, pixel_size_nm, true);
    describe_fits(table, rois, psf);
    return table;
}

}  // namespace

nb::dict columns_of(Fits&& fits) {
    const auto [table, owner] = kept(std::move(fits));
    Columns columns(owner);
    for (int k = 0; k < parameter_count(table->model); ++k) {
        columns.add("theta" + std::to_string(k), table->theta[k]);
        columns.add("crlb" + std::to_string(k), table->crlb[k]);
    }
    columns.add("log_likelihood", table->log_likelihood_ratio);
    columns.add("p_value", table->p_value);
    columns.add("iterations", table->iterations);
    columns.add_as<std::uint8_t>("status", table->status.data(), table->count());
    if (!table->emitters.empty()) columns.add("window", table->window), columns.add("emitters", table->emitters);
    return columns.take();
}

/// Return events for Python as (seconds, description), and GPUs as (name, uuid, fits, seconds).
static nb::object shown(const std::vector<FitEvent>& events) {
    nb::list all;
    for (const FitEvent& event : events) all.append(nb::make_tuple(event.seconds, event.what));
    return nb::tuple(all);
}

static nb::object shown(const std::vector<GpuPart>& gpus) {
    nb::list all;
    for (const GpuPart& part : gpus) all.append(nb::make_tuple(part.name, part.uuid, part.fits, part.seconds));
    return nb::tuple(all);
}

template <class Value>
nb::object shown(const Value& value) {
    return nb::cast(value);
}

nb::dict dict_of(const FitInfo& info) {
    nb::dict dict;
    for_each_info_field([&](const auto& field) { dict[field.name] = shown(info.*field.value); });
    return dict;
}

void bind_fit(nb::module_& m) {
    m.def("backend_named", [](const std::string& word) -> std::optional<std::string> {
        const std::optional<Backend> named = backend_named(word);
        return named ? std::optional<std::string>(to_name(*named)) : std::nullopt;
    });
    m.def("gpu_worker", &environment::gpu_worker);
    nb::enum_<Backend>(m, "Backend")
        .value("auto", Backend::automatic)
        .value("cpu", Backend::cpu)
        .value("gpu", Backend::gpu)
        .value("prefer_gpu", Backend::prefer_gpu);
    nb::class_<FitOptions>(m, "FitOptions")
        .def(nb::init<>())
        .def_rw("backend", &FitOptions::backend)
        .def_rw("gpu_memory_bytes", &FitOptions::gpu_memory_bytes)
        .def_rw("batch_size", &FitOptions::batch_size)
        .def_rw("gpus", &FitOptions::gpus)
        .def_rw("auto_timeout_s", &FitOptions::auto_timeout_s)
        .def_rw("gpu_timeout_s", &FitOptions::gpu_timeout_s)
        .def_rw("always_gpu", &FitOptions::always_gpu)
        .def_rw("gpu_worker", &FitOptions::gpu_worker)
        .def_rw("restart_batches", &FitOptions::restart_batches)
        .def_rw("max_iterations", &FitOptions::max_iterations)
        .def_rw("tolerance", &FitOptions::tolerance)
        .def_rw("position_margin_px", &FitOptions::position_margin_px)
        .def_rw("min_sigma_px", &FitOptions::min_sigma_px)
        .def_rw("max_sigma_px", &FitOptions::max_sigma_px)
        .def_rw("emitters", &FitOptions::emitters)
        .def_rw("psf_misfit", &FitOptions::psf_misfit)
        .def_rw("threads", &FitOptions::threads);
    nb::class_<Stack>(m, "Stack")
        .def(
            "__init__",
            [](Stack* stack, Pixels pixels, std::optional<Vector<std::int32_t>> x_corner,
               std::optional<Vector<std::int32_t>> y_corner, std::vector<Vector<float>> start,
               std::optional<Camera> camera, float variance_e2, float excess_noise, float qe) {
                if (pixels.shape(1) != pixels.shape(2)) throw OptionError("ROIs are squares: (n, S, S)");
                const int gpu = gpu_of(pixels);
                new (stack) Stack{std::move(pixels),
                                  std::move(x_corner),
                                  std::move(y_corner),
                                  std::move(start),
                                  std::move(camera),
                                  variance_e2,
                                  excess_noise,
                                  qe,
                                  gpu};
            },
            "pixels"_a.noconvert(), "x_corner"_a.none(), "y_corner"_a.none(), "start"_a, "camera"_a.none(),
            "variance_e2"_a, "excess_noise"_a, "qe"_a = 1.0f)
        .def_prop_ro("address",
                     [](const Stack& stack) { return reinterpret_cast<std::uintptr_t>(stack.pixels.data()); });
    m.def("to_localizations", &localizations_of, "columns"_a, "x_corner"_a.none(), "y_corner"_a.none(), "frame"_a,
          "psf"_a, "pixel_size_nm"_a, "roi_size"_a);
    m.def("parse_gpu_memory", &gpu_memory, "text"_a);
    m.def("check_fit", &check_fit, "stack"_a, "psf"_a, "pixel_size_nm"_a, "options"_a);
    nb::class_<Fitter>(m, "Fitter")
        .def(nb::init<>())
        .def("fit", &fit_stack, "stack"_a, "psf"_a, "pixel_size_nm"_a, "options"_a, "progress"_a.none(),
             "on_wait"_a.none(), "log"_a.none());
}

}  // namespace glint::python
