// Bindings: scores against ground truth, astigmatic calibration, files of cameras and calibrations (glint/analysis.py).
// SPDX-License-Identifier: MIT
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "analysis/score_figures.hpp"
#include "bindings.hpp"
#include "columns.hpp"
#include "glint/calibrate.hpp"
#include "glint/camera_io.hpp"
#include "glint/camera_presets.hpp"
#include "glint/render.hpp"
#include "glint/score.hpp"
#include "io/files/check_outputs.hpp"
#include "objects.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

nb::dict score_tables(const Localizations& found, const Localizations& truth, double radius_nm, double axial_radius_nm,
                      const std::string& found_name, const std::string& truth_name) {
    Running running;
    const ScoreOptions options{.radius_nm = radius_nm,
                               .axial_radius_nm = axial_radius_nm,
                               .localizations_name = found_name,
                               .truth_name = truth_name};
    const auto [s, warning] = running.run([&] {
        const Score result = score(found, truth, options);
        return std::pair(result, frames_warning(found, truth, options, result.recall));
    });
    nb::dict dict;
    dict["warning"] = warning;
    put_figures(s, [&](const char* name, auto value) { dict[name] = value; });
    nb::list bins;
    for (const NeighborBin& bin : s.recall_by_neighbor) {
        nb::dict one;
        one["from_px"] = bin.from_px, one["to_px"] = bin.to_px;
        one["truths"] = bin.truths, one["matched"] = bin.matched, one["recall"] = bin.recall();
        bins.append(one);
    }
    dict["recall_by_neighbor"] = bins;
    return dict;
}

nb::dict calibrate(SharedMovie& shared, const Camera& camera, const CalibrateOptions& options) {
    Running running;
    const Calibration c = running.run([&] {
        const std::lock_guard lock(shared.mutex);
        return calibrate_astigmatism(*shared.movie, camera, options);
    });
    nb::dict dict;
    dict["curve"] = c.curve, dict["z_middle_nm"] = c.z_middle_nm, dict["beads"] = c.beads;
    dict["rms_residual_nm"] = c.rms_residual_nm;
    dict["max_z_bias_nm"] = c.max_z_bias_nm, dict["rms_z_bias_nm"] = c.rms_z_bias_nm;
    dict["range_note"] = range_note(c);
    dict["misfit_warning"] = misfit_warning(c);
    const auto [data, owner] = kept(Calibration(c));
    Columns columns(owner);
    columns.add("z_nm", data->z_nm);
    columns.add("sigma_x_nm", data->sigma_x_nm);
    columns.add("sigma_y_nm", data->sigma_y_nm);
    columns.add("sigma_x_unc_nm", data->sigma_x_unc_nm);
    columns.add("sigma_y_unc_nm", data->sigma_y_unc_nm);
    dict["columns"] = columns.take();
    dict["plot"] = array_of(plot(c))[0];
    return dict;
}

nb::object field_of(const SensorField& field, const Camera& camera) {
    if (!field.is_map()) return nb::cast(double(field.scalar));
    return map_of(field.map, camera.sensor_width, camera.sensor_height);
}

const char* class_of(CameraKind kind) {
    return kind == CameraKind::Ideal ? "IdealCamera" : kind == CameraKind::SCMOS ? "SCMOSCamera" : "EMCCDCamera";
}

nb::list presets() {
    nb::list all;
    for (const CameraPreset& one : camera_presets()) {
        nb::dict preset;
        preset["name"] = one.name, preset["model"] = one.model, preset["kind"] = class_of(one.kind);
        preset["offset"] = double(one.offset_adu), preset["gain"] = double(one.gain_e_per_adu);
        preset["readnoise"] = double(one.readnoise_e);
        preset["qe"] = one.qe > 0 ? nb::cast(one.qe) : nb::none();
        preset["pixel_pitch_nm"] = one.pixel_pitch_nm > 0 ? nb::cast(one.pixel_pitch_nm) : nb::none();
        preset["source"] = one.source, preset["note"] = starting_values_text(one);
        all.append(preset);
    }
    return all;
}

nb::dict read_camera_file(const std::filesystem::path& path, const std::string& gain_unit, const std::string& name,
                          const std::vector<std::string>& settings, std::optional<double> exposure_ms) {
    Running running;
    const CameraFile file = running.run([&] {
        return read_camera(path, {}, {gain_unit, name, settings, exposure_ms});
    });
    const Camera& camera = file.camera;
    nb::dict dict;
    dict["kind"] = class_of(camera.kind);
    dict["pixel_size_nm"] = file.pixel_size_nm;
    dict["offset"] = file.has_offset ? field_of(camera.offset_adu, camera) : nb::none();
    dict["gain"] = file.has_gain ? field_of(camera.gain_e_per_adu, camera) : nb::none();
    dict["readnoise"] = field_of(camera.readnoise_e, camera);
    dict["qe"] = field_of(camera.relative_qe, camera);
    dict["em_gain"] = camera.em_gain, dict["has_em_register"] = file.has_em_register;
    dict["masked"] = map_of(camera.masked, camera.sensor_width, camera.sensor_height);
    dict["sensor_roi"] = file.has_corner ? nb::object(nb::make_tuple(camera.roi_x, camera.roi_y)) : nb::none();
    return dict;
}

}  // namespace

void bind_analysis(nb::module_& m) {
    m.def("order_warning", &order_warning, "found"_a, "truth"_a);
    m.def("score", &score_tables, "found"_a, "truth"_a, "radius_nm"_a, "axial_radius_nm"_a, "found_name"_a,
          "truth_name"_a);
    nb::class_<CalibrateOptions>(m, "CalibrateOptions")
        .def(nb::init<>())
        .def_rw("pixel_size_nm", &CalibrateOptions::pixel_size_nm)
        .def_rw("z_step_nm", &CalibrateOptions::z_step_nm)
        .def_rw("z_center_nm", &CalibrateOptions::z_center_nm)
        .def_rw("sigma_nm", &CalibrateOptions::sigma_nm)
        .def_rw("roi_size", &CalibrateOptions::roi_size);
    m.def("calibrate_astigmatism", &calibrate, "stack"_a, "camera"_a, "options"_a);
    m.def("depth_warning", &depth_warning, "curve"_a);
    m.def("read_camera", &read_camera_file, "path"_a, "gain_unit"_a, "name"_a, "settings"_a, "exposure_ms"_a.none());
    m.def("camera_presets", &presets);
    m.def("read_astigmatic_curve", &read_astigmatic_curve, "path"_a);
    m.def(
        "write_astigmatic_curve",
        [](const std::filesystem::path& path, const AstigmaticCurve& curve, bool overwrite,
           const std::string& range_note) {
            const IfExists if_exists = overwrite ? IfExists::replace : IfExists::refuse;
            check_outputs({path}, if_exists, {});
            write_astigmatic_curve(path, curve, if_exists, range_note);
        },
        "path"_a, "curve"_a, "overwrite"_a, "range_note"_a);
}

}  // namespace glint::python
