// Bindings of calibrate_psf(), estimate_psf() and of files of measured PSFs; users see glint/lenses.py.
// SPDX-License-Identifier: MIT
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>

#include "bindings.hpp"
#include "columns.hpp"
#include "data/camera_of_movie.hpp"
#include "glint/calibrate_psf.hpp"
#include "glint/estimate_psf.hpp"
#include "glint/psf_io.hpp"
#include "glint/pupil.hpp"
#include "glint/refine_psf.hpp"
#include "io/files/check_outputs.hpp"
#include "objects.hpp"
#include "running.hpp"
#include "workflow/to_lens.hpp"

namespace glint::python {
namespace {

namespace fs = std::filesystem;

/// Adds the coefficients (z, y, x) and their scale.
void add_table(nb::dict& dict, const PsfTable& table) {
    const auto [values, owner] = kept(std::vector<float>(table.values().begin(), table.values().end()));
    const auto& edges = table.shape();
    const std::size_t shape[] = {std::size_t(edges[0]), std::size_t(edges[1]), std::size_t(edges[2])};
    const PsfField& field = table.field();
    if (field.cells() > 1) {
        const std::size_t with_cells[] = {std::size_t(field.cells_y), std::size_t(field.cells_x), shape[0], shape[1],
                                          shape[2]};
        dict["table"] = nb::cast(nb::ndarray<nb::numpy, float>(values->data(), 5, with_cells, owner));
    } else {
        dict["table"] = nb::cast(nb::ndarray<nb::numpy, float>(values->data(), 3, shape, owner));
    }
    dict["field"] =
        field.cells() > 1 ? nb::cast(nb::make_tuple(field.left_px, field.top_px, field.cell_px)) : nb::none();
    dict["pixel_size_nm"] = table.scale().pixel_size_nm, dict["samples_per_px"] = table.scale().samples_per_px;
    dict["z_min_nm"] = table.scale().z_min_nm, dict["z_max_nm"] = table.scale().z_max_nm;
}

nb::dict read(const fs::path& path, double pixel_size_nm, int channel) {
    const Lens lens = read_lens(path, {pixel_size_nm, channel});
    nb::dict dict;
    add_table(dict, *lens.table);
    return dict;
}

nb::dict compute(double na, double wavelength_nm, double immersion_index, double sample_index, double depth_nm,
                 const std::vector<std::pair<std::string, double>>& zernike, double pixel_size_nm, double z_min_nm,
                 double z_max_nm, bool is_stage, int window_px, int samples_per_px) {
    Pupil pupil{na, wavelength_nm, immersion_index, sample_index, depth_nm, {}};
    for (const auto& [name, rad_rms] : zernike) pupil.zernike.push_back({parse_zernike(name), rad_rms});
    PupilGrid grid;
    grid.pixel_size_nm = pixel_size_nm, grid.z_min_nm = z_min_nm, grid.z_max_nm = z_max_nm;
    grid.moving = is_stage ? PupilZ::stage : PupilZ::molecule;
    grid.window_px = window_px, grid.samples_per_px = samples_per_px;
    Running running;
    grid.stop = running.stop();
    const ComputedPsf computed = running.run([&] { return compute_psf(pupil, grid); });
    nb::dict dict;
    add_table(dict, *computed.psf.table);
    dict["warnings"] = nb::cast(in_python(computed.warnings));
    return dict;
}

PsfCalibration calibrate(const std::vector<SharedMovie*>& stacks, const Camera& camera, double pixel_size_nm,
                         double z_step_nm, double z_center_nm, double z_scale, int roi_size, bool field,
                         nb::handle progress) {
    Running running;
    CalibratePsfOptions options;
    options.pixel_size_nm = pixel_size_nm, options.z_step_nm = z_step_nm, options.z_center_nm = z_center_nm;
    options.z_scale = z_scale, options.roi_size = roi_size, options.field = field;
    const auto [field_x_px, field_y_px] = find_field_place(camera, {});
    options.field_x_px = field_x_px, options.field_y_px = field_y_px;
    options.progress = running.progress(progress), options.stop = running.stop();
    std::vector<SharedMovie*> in_order = stacks;
    std::sort(in_order.begin(), in_order.end());  // all threads lock in the same order
    return running.run([&] {
        std::vector<std::unique_lock<std::mutex>> locks;
        for (SharedMovie* movie : in_order) locks.emplace_back(movie->mutex);
        std::vector<Movie*> movies;
        for (SharedMovie* movie : stacks) movies.push_back(movie->movie.get());
        return calibrate_psf(movies, camera, options);
    });
}

/// An array of 3 x rows x columns values.
nb::object to_images(const std::vector<float>& images, std::size_t columns) {
    const auto [values, owner] = kept(std::vector<float>(images));
    const std::size_t shape[] = {3, images.size() / (3 * columns), columns};
    return nb::cast(nb::ndarray<nb::numpy, float>(values->data(), 3, shape, owner));
}

/// None if the bead was rejected.
nb::object to_object(const PsfBeadSections& sections) {
    if (sections.size == 0) return nb::none();
    Columns z(nb::none());
    z.add_copy("z_nm", std::vector<double>(sections.z_nm));
    nb::dict dict = z.take();
    dict["xy_z_nm"] = sections.xy_z_nm;
    dict["xy"] = to_images(sections.xy, std::size_t(sections.size));
    dict["xz"] = to_images(sections.xz, std::size_t(sections.size));
    dict["yz"] = to_images(sections.yz, std::size_t(sections.size));
    return dict;
}

template <class Rows, class Get>
void add_column(Columns& columns, const char* name, const Rows& rows, const Get& get) {
    std::vector<double> values;
    for (const auto& row : rows) values.push_back(double(get(row)));
    columns.add_copy(name, std::move(values));
}

nb::dict to_dict(const PsfCalibration& c) {
    nb::dict dict;
    add_table(dict, *c.table);
    dict["usable_min_nm"] = c.z_min_nm, dict["usable_max_nm"] = c.z_max_nm, dict["roi_size"] = c.roi_size;
    dict["z_slope"] = c.z_slope, dict["z_rms_nm"] = c.z_rms_nm, dict["z_crlb_nm"] = c.z_crlb_nm;
    dict["x_tilt"] = c.x_tilt, dict["y_tilt"] = c.y_tilt;
    dict["deviance"] = c.deviance, dict["good_p"] = c.good_p, dict["warnings"] = nb::cast(in_python(c.warnings));
    dict["field_fit"] = nb::none();
    if (c.field) {
        nb::dict field;
        field["degree"] = c.field->degree, field["gain"] = c.field->gain, field["gain_error"] = c.field->gain_error;
        field["good_p_of_one"] = c.field->good_p_of_one, field["good_p"] = c.field->good_p;
        field["cell_error_nm"] = c.field->cell_error_nm;
        dict["field_fit"] = field;
    }
    dict["gaussian"] = nb::none();
    if (c.gaussian) {
        nb::dict gaussian;
        gaussian["suffices"] = c.gaussian->suffices, gaussian["wrong"] = c.gaussian->wrong;
        gaussian["z_rms_nm"] = c.gaussian->z_rms_nm, gaussian["deviance"] = c.gaussian->deviance;
        gaussian["good_p"] = c.gaussian->good_p, gaussian["added_deviance"] = c.gaussian->added_deviance;
        gaussian["added_deviance_error"] = c.gaussian->added_deviance_error;
        dict["gaussian"] = gaussian;
    }
    nb::list rejected, sections;
    for (const PsfBead& bead : c.beads) {
        rejected.append(nb::cast(in_python(bead.rejected)));
        sections.append(to_object(bead.sections));
    }
    Columns beads(nb::none()), errors(nb::none());
    add_column(beads, "stack", c.beads, [](const PsfBead& b) { return b.file; });
    add_column(beads, "x_px", c.beads, [](const PsfBead& b) { return b.x_px; });
    add_column(beads, "y_px", c.beads, [](const PsfBead& b) { return b.y_px; });
    add_column(beads, "z_nm", c.beads, [](const PsfBead& b) { return b.z_nm; });
    add_column(beads, "photons", c.beads, [](const PsfBead& b) { return b.photons; });
    add_column(beads, "misfit", c.beads, [](const PsfBead& b) { return b.misfit; });
    add_column(errors, "z_nm", c.slices, [](const PsfSliceError& s) { return s.z_nm; });
    add_column(errors, "z_bias_nm", c.slices, [](const PsfSliceError& s) { return s.z_bias_nm; });
    add_column(errors, "z_rms_nm", c.slices, [](const PsfSliceError& s) { return s.z_rms_nm; });
    add_column(errors, "z_crlb_nm", c.slices, [](const PsfSliceError& s) { return s.z_crlb_nm; });
    add_column(errors, "x_bias_nm", c.slices, [](const PsfSliceError& s) { return s.x_bias_nm; });
    add_column(errors, "y_bias_nm", c.slices, [](const PsfSliceError& s) { return s.y_bias_nm; });
    add_column(errors, "good_p", c.slices, [](const PsfSliceError& s) { return s.good_p; });
    nb::dict bead_columns = beads.take();
    bead_columns["rejected"] = rejected, bead_columns["sections"] = sections;
    dict["beads"] = bead_columns, dict["errors"] = errors.take();
    return dict;
}

void write(const fs::path& path, const PsfCalibration& c, const std::string& origin, bool overwrite,
           const std::vector<fs::path>& inputs) {
    const IfExists if_exists = overwrite ? IfExists::replace : IfExists::refuse;
    check_outputs({path}, if_exists, inputs);
    write_lens(path, to_lens(c, origin), if_exists);
}

EstimatedPsf estimate_from_movie(SharedMovie& shared, const Camera& camera, double pixel_size_nm, double sigma_nm,
                                 std::int64_t begin, std::int64_t end, nb::handle progress) {
    Running running;
    EstimatePsfOptions options;
    options.pixel_size_nm = pixel_size_nm, options.sigma_nm = sigma_nm, options.frames = {begin, end};
    options.progress = running.progress(progress), options.stop = running.stop();
    return running.run([&] {
        const std::lock_guard lock(shared.mutex);
        return estimate_psf(*shared.movie, camera, options);
    });
}

nb::dict to_values(const EstimatedPsf& found) {
    nb::dict dict;
    add_table(dict, *found.table);
    dict["roi_size"] = found.roi_size, dict["frames"] = found.frames, dict["spots"] = found.spots;
    dict["lone"] = found.lone, dict["used"] = found.used, dict["photons"] = found.photons;
    dict["outside"] = found.outside, dict["good_p"] = found.psf.good_p, dict["deviance"] = found.psf.deviance;
    dict["gaussian_good_p"] = found.gaussian.good_p, dict["gaussian_deviance"] = found.gaussian.deviance;
    dict["warnings"] = nb::cast(in_python(found.warnings));
    return dict;
}

void write_estimated(const fs::path& path, const EstimatedPsf& found, const std::string& origin, bool overwrite,
                     const std::vector<fs::path>& inputs) {
    const IfExists if_exists = overwrite ? IfExists::replace : IfExists::refuse;
    check_outputs({path}, if_exists, inputs);
    Lens lens;
    lens.table = found.table, lens.origin = origin;
    write_lens(path, lens, if_exists);
}

/// A refined PSF, and the file of the beads' PSF as it was read then.
struct RefinedWithBeads {
    RefinedPsf found;
    Lens beads;
};

RefinedWithBeads refine_by_movie(SharedMovie& shared, const Camera& camera, const fs::path& beads, int channel,
                                 double pixel_size_nm, double na, double wavelength_nm, double immersion_index,
                                 double sample_index, std::int64_t begin, std::int64_t end, nb::handle progress) {
    Running running;
    RefinePsfOptions options{na, wavelength_nm, immersion_index, sample_index, pixel_size_nm, {begin, end},
                             {}, nullptr};
    options.progress = running.progress(progress), options.stop = running.stop();
    return running.run([&] {
        RefinedWithBeads to{{}, read_lens(beads, {pixel_size_nm, channel})};
        const std::lock_guard lock(shared.mutex);
        to.found = refine_psf(*shared.movie, camera, *to.beads.table, options);
        return to;
    });
}

nb::dict to_refined_values(const RefinedWithBeads& refined) {
    const RefinedPsf& found = refined.found;
    nb::dict dict, aberrations, errors;
    add_table(dict, *found.table);
    for (const SampleAberration& one : found.aberrations) {
        const std::string key = one.name + " (" + one.unit + ")";
        aberrations[key.c_str()] = one.value, errors[key.c_str()] = one.error;
    }
    dict["aberrations"] = aberrations, dict["aberration_errors"] = errors;
    dict["is_better"] = found.is_better, dict["added_likelihood"] = found.added_likelihood;
    dict["added_likelihood_error"] = found.added_likelihood_error, dict["unexplained"] = found.unexplained;
    dict["roi_size"] = found.roi_size, dict["frames"] = found.frames, dict["spots"] = found.spots;
    dict["lone"] = found.lone, dict["used"] = found.used;
    dict["good_p"] = found.refined.good_p, dict["deviance"] = found.refined.deviance;
    dict["beads_good_p"] = found.beads.good_p, dict["beads_deviance"] = found.beads.deviance;
    Columns left_out(nb::none());
    add_column(left_out, "beads_z_nm", found.left_out, [](const RefinedSpot& spot) { return spot.beads_z_nm; });
    add_column(left_out, "z_nm", found.left_out, [](const RefinedSpot& spot) { return spot.z_nm; });
    dict["left_out"] = left_out.take();
    dict["warnings"] = nb::cast(in_python(found.warnings));
    return dict;
}

void write_refined(const fs::path& path, const RefinedWithBeads& refined, const std::string& origin, bool overwrite,
                   const std::vector<fs::path>& inputs) {
    const IfExists if_exists = overwrite ? IfExists::replace : IfExists::refuse;
    check_outputs({path}, if_exists, inputs);
    write_lens(path, to_lens(refined.found, refined.beads, origin), if_exists);
}

}  // namespace

void bind_lens(nb::module_& m) {
    nb::class_<PsfCalibration>(m, "PsfCalibration");
    m.def("read_lens", &read, "path"_a, "pixel_size_nm"_a, "channel"_a);
    m.def("compute_psf", &compute, "na"_a, "wavelength_nm"_a, "immersion_index"_a, "sample_index"_a, "depth_nm"_a,
          "zernike"_a, "pixel_size_nm"_a, "z_min_nm"_a, "z_max_nm"_a, "is_stage"_a, "window_px"_a, "samples_per_px"_a);
    m.def("calibrate_psf", &calibrate, "stacks"_a, "camera"_a, "pixel_size_nm"_a, "z_step_nm"_a, "z_center_nm"_a,
          "z_scale"_a, "roi_size"_a, "field"_a, "progress"_a.none());
    nb::class_<EstimatedPsf>(m, "EstimatedPsf");
    m.def("estimate_psf", &estimate_from_movie, "movie"_a, "camera"_a, "pixel_size_nm"_a, "sigma_nm"_a, "begin"_a,
          "end"_a, "progress"_a.none());
    m.def("estimated_psf_values", &to_values, "estimated"_a);
    m.def("write_estimated_psf", &write_estimated, "path"_a, "estimated"_a, "origin"_a, "overwrite"_a, "inputs"_a);
    nb::class_<RefinedWithBeads>(m, "RefinedPsf");
    m.def("refine_psf", &refine_by_movie, "movie"_a, "camera"_a, "beads"_a, "channel"_a, "pixel_size_nm"_a, "na"_a,
          "wavelength_nm"_a, "immersion_index"_a, "sample_index"_a, "begin"_a, "end"_a, "progress"_a.none());
    m.def("refined_psf_values", &to_refined_values, "refined"_a);
    m.def("write_refined_psf", &write_refined, "path"_a, "refined"_a, "origin"_a, "overwrite"_a, "inputs"_a);
    m.def("psf_calibration_values", &to_dict, "calibration"_a);
    m.def("write_lens", &write, "path"_a, "calibration"_a, "origin"_a, "overwrite"_a, "inputs"_a);
}

}  // namespace glint::python
