// Bindings of calibrate_camera(); users see glint/calibrating.py.
// SPDX-License-Identifier: MIT
#include "glint/calibrate_camera.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>
#include <type_traits>

#include "bindings.hpp"
#include "columns.hpp"
#include "glint/camera_io.hpp"
#include "io/files/check_outputs.hpp"
#include "objects.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

namespace fs = std::filesystem;

CameraCalibration calibrate_movies(SharedMovie& dark, const std::vector<SharedMovie*>& light,
                                   const std::vector<SharedMovie*>& ramps, double gain_e_per_adu, double em_gain,
                                   nb::handle progress) {
    Running running;
    CalibrateCameraOptions options;
    options.gain_e_per_adu = gain_e_per_adu, options.em_gain = em_gain;
    options.progress = running.progress(progress), options.stop = running.stop();
    std::vector<SharedMovie*> all = light;
    all.insert(all.end(), ramps.begin(), ramps.end());
    all.push_back(&dark);
    std::sort(all.begin(), all.end());  // all threads lock in the same order
    return running.run([&] {
        std::vector<std::unique_lock<std::mutex>> locks;
        for (SharedMovie* movie : all) locks.emplace_back(movie->mutex);
        std::vector<Movie*> levels;
        for (SharedMovie* movie : light) levels.push_back(movie->movie.get());
        for (SharedMovie* movie : ramps) options.ramps.push_back(movie->movie.get());
        return calibrate_camera(*dark.movie, levels, options);
    });
}

nb::dict calibration_dict(const CameraCalibration& c) {
    nb::dict dict;
    const auto add_map = [&](const char* name, const auto& map) { dict[name] = map_of(map, c.width, c.height); };
    add_map("offset", c.offset_adu.value), add_map("offset_error", c.offset_adu.error);
    add_map("readvar", c.readvar_adu2.value), add_map("readvar_error", c.readvar_adu2.error);
    add_map("gain", c.gain_e_per_adu.value), add_map("gain_error", c.gain_e_per_adu.error);
    add_map("gain_chi2", c.chi2);
    std::vector<std::uint8_t> faults;
    for (const PixelFault fault : c.faults) faults.push_back(std::uint8_t(fault));
    add_map("faults", faults);
    nb::list levels;
    for (const LightLevel& level : c.levels) {
        nb::dict one;
        one["name"] = nb::cast(in_python(level.name)), one["frames"] = level.frames;
        one["mean_adu"] = level.mean_adu, one["variance_adu2"] = level.variance_adu2;
        one["light_spread"] = level.light_spread, one["drift"] = level.drift, one["of_ramp"] = level.of_ramp;
        Columns samples(nb::none());
        samples.add_copy("sample_mean_adu", level.sample_mean_adu);
        samples.add_copy("sample_variance_adu2", level.sample_variance_adu2);
        one.update(samples.take());
        levels.append(one);
    }
    dict["levels"] = levels;
    Columns sample(nb::none());
    sample.add_copy("sample", c.sample);
    dict.update(sample.take());
    dict["sensor_gain"] = nb::make_tuple(c.sensor_gain, c.sensor_gain_error);
    dict["em_gain"] = c.em_gain, dict["sensor_readvar"] = c.sensor_readvar_adu2, dict["error_factor"] = c.error_factor;
    nb::dict change;
    change["lowest"] = nb::cast(in_python(c.dark_change.lowest)), change["lowest_adu"] = c.dark_change.lowest_adu;
    change["highest"] = nb::cast(in_python(c.dark_change.highest)), change["highest_adu"] = c.dark_change.highest_adu;
    change["share"] = c.dark_change.share, dict["dark_change"] = change;
    dict["pixel_gain_error"] = c.pixel_gain_error, dict["gain_spread"] = c.gain_spread;
    dict["mean_chi2"] = c.mean_chi2, dict["own_gains"] = c.own_gains, dict["saturated"] = c.saturated;
    dict["expected_false_alarms"] = c.expected_false_alarms, dict["dark_frames"] = c.dark_frames;
    return dict;
}

std::vector<std::string> calibration_words(const CameraCalibration& c) { return in_python(calibration_warnings(c)); }

}  // namespace

void bind_calibrate_camera(nb::module_& m) {
    nb::class_<CameraCalibration>(m, "CameraCalibration");
    m.def("calibrate_camera", &calibrate_movies, "dark"_a, "light"_a, "ramps"_a, "gain"_a, "em_gain"_a,
          "progress"_a.none());
    m.def("camera_calibration_maps", &calibration_dict, "calibration"_a);
    m.def("camera_calibration_warnings", &calibration_words, "calibration"_a);
    m.def(
        "write_camera",
        [](const fs::path& path, const CameraCalibration& calibration, double pixel_size_nm, bool overwrite,
           const std::vector<fs::path>& inputs) {
            const IfExists if_exists = overwrite ? IfExists::replace : IfExists::refuse;
            check_outputs({path, maps_of_camera(path)}, if_exists, inputs);
            write_camera(path, calibration, pixel_size_nm, if_exists);
        },
        "path"_a, "calibration"_a, "pixel_size_nm"_a, "overwrite"_a, "inputs"_a);
}

}  // namespace glint::python
