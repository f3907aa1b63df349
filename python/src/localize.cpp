// Bindings of localize() and detect(); users see glint/localizing.py.
// SPDX-License-Identifier: MIT
#include "glint/localize.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bindings.hpp"
#include "columns.hpp"
#include "glint/error.hpp"
#include "objects.hpp"
#include "pipeline/localize_job.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

namespace fs = std::filesystem;

nb::dict dict_of_result(const LocalizeResult& result) {
    nb::dict dict;
    dict["frames"] = result.frames, dict["resumed_frames"] = result.resumed_frames;
    dict["localizations"] = result.localizations, dict["spots"] = result.spots;
    dict["added"] = result.added, dict["merged"] = result.merged, dict["molecules"] = result.molecules;
    dict["not_converged"] = result.not_converged, dict["left_spot"] = result.left_spot;
    dict["duplicates"] = result.duplicates, dict["bad_pixels"] = result.bad_pixels;
    dict["zero_border_frames"] = result.zero_border_frames, dict["masked_pixels"] = result.masked_pixels;
    dict["defective_pixels"] = result.defective_pixels, dict["hits"] = result.hits;
    dict["saturation_adu"] = result.saturation_adu > 0 ? nb::object(nb::float_(result.saturation_adu)) : nb::none();
    dict["saturated_spots"] = result.saturated_spots, dict["mostly_saturated"] = result.mostly_saturated;
    dict["at_bound"] = result.at_bound, dict["hidden_rows"] = result.hidden_rows;
    dict["noise_check"] = result.noise_check, dict["noise_check_error"] = result.noise_check_error;
    dict["seconds"] = result.seconds;
    dict["psf_scatter"] = result.lone.scatter;
    dict["psf_residual"] = std::vector<double>(result.lone.satellites.begin(), result.lone.satellites.end());
    dict["psf_misfit"] = result.lone.psf_misfit, dict["lone_spots"] = result.lone.count;
    dict["crowd_molecules"] = result.lone.crowd_molecules;
    dict["lone_spot_width_nm"] = result.lone.width_nm;
    dict["width_bounds_nm"] = nb::make_tuple(result.lone.min_width_nm, result.lone.max_width_nm);
    dict["static_background_e"] = result.background.max_e;
    dict["static_background_changed"] = result.background.share_changed;
    dict["false_spots"] = result.background.share_false;
    dict["fit"] = dict_of(result.fit);
    return dict;
}

struct Callbacks {
    nb::object progress, on_wait, log, warn;
};

// For Python's garbage collector: a callback's object may keep an exception whose traceback refers to these objects.
int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const Callbacks& callbacks = *nb::inst_ptr<Callbacks>(self);
    for (const nb::object* one : {&callbacks.progress, &callbacks.on_wait, &callbacks.log, &callbacks.warn})
        Py_VISIT(one->ptr());
    return 0;
}

int clear(PyObject* self) {
    std::exchange(*nb::inst_ptr<Callbacks>(self), {});
    return 0;
}

PyType_Slot collected[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)}, {Py_tp_clear, reinterpret_cast<void*>(&clear)}, {0, nullptr}};

LocalizeOptions with_callbacks(const LocalizeOptions& wanted, const FitOptions& fit, const Callbacks& callbacks,
                               Running& running) {
    LocalizeOptions options = wanted;
    FitSettings settings = fit;
    settings.emitters = wanted.fit.emitters, settings.psf_misfit = wanted.fit.psf_misfit;
    options.fit = settings;
    static_cast<Placement&>(options) = fit;
    options.threads = wanted.threads;
    options.on_wait = running.on_wait(callbacks.on_wait);
    options.log = running.text(callbacks.log);
    options.progress = running.progress(callbacks.progress);
    options.warn = running.text(callbacks.warn);
    options.stop = running.stop();
    return options;
}

/// Localizes into a file. After a stop, the partial file has been written when this throws.
nb::dict to_file(SharedMovie& shared, const Camera& camera, const fs::path& out, const LocalizeOptions& wanted,
                 const FitOptions& fit, const Callbacks& callbacks) {
    Running running;
    const LocalizeOptions options = with_callbacks(wanted, fit, callbacks, running);
    return dict_of_result(running.run([&] {
        const std::lock_guard lock(shared.mutex);
        return localize(*shared.movie, camera, out, options);
    }));
}

/// The same for a movie that is still being written. `report` gets a FollowStatus each second, as a dict.
nb::dict follow_to_file(SharedMovie& shared, const Camera& camera, const fs::path& out, const LocalizeOptions& wanted,
                        const FitOptions& fit, const Callbacks& callbacks, double timeout_s, nb::handle report) {
    Running running;
    const LocalizeOptions options = with_callbacks(wanted, fit, callbacks, running);
    FollowOptions how;
    how.timeout_s = timeout_s;
    how.report = running.statuses(report);
    return dict_of_result(running.run([&] {
        const std::lock_guard lock(shared.mutex);
        return follow(dynamic_cast<GrowingMovie&>(*shared.movie), camera, out, options, how);
    }));
}

/// Returns the rows; if there are none, a row with the columns that they would have; and the result.
nb::tuple in_memory(SharedMovie& shared, const Camera& camera, const LocalizeOptions& wanted, const FitOptions& fit,
                    const Callbacks& callbacks) {
    Running running;
    const LocalizeOptions options = with_callbacks(wanted, fit, callbacks, running);
    LocalizeResult result;
    Localizations example;
    Localizations rows = running.run([&] {
        const std::lock_guard lock(shared.mutex);
        Localizations found = localize_frames(*shared.movie, camera, options, &result);
        if (found.size() == 0) {
            LocalizeOptions quiet = options;
            quiet.warn = {};  // warnings were issued already
            example = make_job(shared.movie->info(), camera, quiet).like;
        }
        return found;
    });
    return nb::make_tuple(nb::cast(std::move(rows)), nb::cast(std::move(example)), dict_of_result(result));
}

/// Spots of all frames, as columns.
struct FoundSpots {
    std::vector<std::uint32_t> frame;
    std::vector<std::int32_t> x, y;
    std::vector<float> score;
};

nb::dict find_spots(SharedMovie& shared, const Camera& camera, const DetectOptions& options, nb::handle progress) {
    Running running;
    const Progress tell = running.progress(progress);
    const auto [all, owner] = kept(running.run([&] {
        const std::lock_guard lock(shared.mutex);
        const MovieInfo& info = shared.movie->info();
        const CameraView view(camera, info.width, info.height);
        Detector detector(view, options);
        std::vector<float> photoelectrons(std::size_t(info.width) * info.height);
        FoundSpots found;
        Spots spots;
        FrameBlock block;
        for (std::int64_t k = 0; k < info.frames; ++k) {
            if (*running.stop()) throw Cancelled("the search was stopped");
            shared.movie->read(k, 1, block);
            view.to_photoelectrons(block.frame(0), block.type, photoelectrons);
            detector.find(photoelectrons, spots);
            found.frame.insert(found.frame.end(), spots.count(), std::uint32_t(k));
            found.x.insert(found.x.end(), spots.x.begin(), spots.x.end());
            found.y.insert(found.y.end(), spots.y.begin(), spots.y.end());
            found.score.insert(found.score.end(), spots.score.begin(), spots.score.end());
            if (tell) tell(k + 1, info.frames, std::int64_t(found.frame.size()));
        }
        return found;
    }));
    Columns columns(owner);
    columns.add("frame", all->frame);
    columns.add("x_px", all->x);
    columns.add("y_px", all->y);
    columns.add("score", all->score);
    return columns.take();
}

}  // namespace

void bind_localize(nb::module_& m) {
    nb::class_<FrameRange>(m, "FrameRange").def(nb::init<std::int64_t, std::int64_t>());
    nb::class_<LocalizeOptions>(m, "LocalizeOptions")
        .def(nb::init<>())
        .def_rw("psf", &LocalizeOptions::psf)
        .def_rw("pixel_size_nm", &LocalizeOptions::pixel_size_nm)
        .def_rw("roi_size", &LocalizeOptions::roi_size)
        .def_rw("threshold", &LocalizeOptions::threshold)
        .def_rw("frames", &LocalizeOptions::frames)
        .def_prop_rw(
            "region",
            [](const LocalizeOptions& options) -> std::optional<std::array<int, 6>> {
                if (!options.region) return std::nullopt;
                const auto& [of, width, height] = *options.region;
                return std::array<int, 6>{of.x, of.y, of.width, of.height, width, height};
            },
            [](LocalizeOptions& options, const std::array<int, 6>& of) {
                options.region = {{of[0], of[1], of[2], of[3]}, of[4], of[5]};
            })
        .def_rw("neighbor_rounds", &LocalizeOptions::neighbor_rounds)
        .def_prop_rw(
            "emitters", [](const LocalizeOptions& options) { return options.fit.emitters; },
            [](LocalizeOptions& options, int emitters) { options.fit.emitters = emitters; })
        .def_prop_rw(
            "psf_misfit", [](const LocalizeOptions& options) { return options.fit.psf_misfit; },
            [](LocalizeOptions& options, double misfit) { options.fit.psf_misfit = misfit; })
        .def_rw("threads", &LocalizeOptions::threads)
        .def_rw("memory_bytes", &LocalizeOptions::memory_bytes)
        .def_rw("keep_failed", &LocalizeOptions::keep_failed)
        .def_rw("keep_defective", &LocalizeOptions::keep_defective)
        .def_rw("resume", &LocalizeOptions::resume)
        .def_rw("overwrite", &LocalizeOptions::overwrite)
        .def_rw("estimated", &LocalizeOptions::estimated)
        .def_rw("psf_file", &LocalizeOptions::psf_file)
        .def_rw("starting_values", &LocalizeOptions::starting_values);
    nb::class_<Callbacks>(m, "Callbacks", nb::type_slots(collected))
        .def(
            "__init__",
            [](Callbacks* to, nb::object progress, nb::object on_wait, nb::object log, nb::object warn) {
                new (to) Callbacks{std::move(progress), std::move(on_wait), std::move(log), std::move(warn)};
            },
            "progress"_a.none(), "on_wait"_a.none(), "log"_a.none(), "warn"_a.none());
    m.def("default_roi_size", &default_roi_size, "psf"_a, "pixel_size_nm"_a);
    m.def("calibration_warning", [](const Psf& psf, int roi_size, double pixel_size_nm) {
        return in_python(calibration_warning(psf, roi_size, pixel_size_nm));
    });
    m.def("partial_path", &partial_path, "out"_a);
    m.def("journal_path", &journal_path, "out"_a);
    m.def("localize", &to_file, "movie"_a, "camera"_a, "out"_a, "options"_a, "fit"_a, "callbacks"_a);
    m.def("follow", &follow_to_file, "movie"_a, "camera"_a, "out"_a, "options"_a, "fit"_a, "callbacks"_a, "timeout_s"_a,
          "report"_a.none());
    m.def(
        "is_already_localized",
        [](SharedMovie& shared, const Camera& camera, const fs::path& out, const LocalizeOptions& wanted,
           const FitOptions& fit, const Callbacks& callbacks) {
            Running running;
            const LocalizeOptions options = with_callbacks(wanted, fit, callbacks, running);
            return running.run([&] {
                const std::lock_guard lock(shared.mutex);
                return is_already_localized(*shared.movie, camera, out, options);
            });
        },
        "movie"_a, "camera"_a, "out"_a, "options"_a, "fit"_a, "callbacks"_a);
    m.def("localize_frames", &in_memory, "movie"_a, "camera"_a, "options"_a, "fit"_a, "callbacks"_a);
    m.def(
        "detect",
        [](SharedMovie& movie, const Camera& camera, double sigma_px, double threshold, nb::handle progress) {
            return find_spots(movie, camera, {.filter = {sigma_px}, .threshold = threshold}, progress);
        },
        "movie"_a, "camera"_a, "sigma_px"_a, "threshold"_a, "progress"_a.none());
}

}  // namespace glint::python
