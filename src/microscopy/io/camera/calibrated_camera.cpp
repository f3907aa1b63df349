// Writes a calibrated camera: camera.toml, and its maps beside it.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <sstream>

#include "glint/camera_io.hpp"
#include "io/camera/toml_section.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/write_into.hpp"
#include "io/hdf5/writing.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

void write_unit(hid_t dataset, const std::string& unit, const fs::path& target) {
    const hdf5::Handle type(H5Tcopy(H5T_C_S1)), space(H5Screate(H5S_SCALAR));
    H5Tset_size(type, unit.size() + 1);
    const hdf5::Handle attribute(H5Acreate2(dataset, "unit", type, space, H5P_DEFAULT, H5P_DEFAULT));
    if (!attribute.valid() || H5Awrite(attribute, type, unit.c_str()) < 0) throw_output_error(target, 0);
}

void write_map(hid_t file, const char* name, const std::vector<float>& map, const char* unit,
               const CameraCalibration& camera, const fs::path& target) {
    if (map.empty()) return;
    const hdf5::Quiet quiet;
    const hsize_t shape[] = {hsize_t(camera.height), hsize_t(camera.width)};
    hdf5::Handle dataset = hdf5::create_dataset(file, name, H5T_NATIVE_FLOAT, shape, target);
    if (H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, map.data()) < 0)
        throw_output_error(target, 0);
    write_unit(dataset, unit, target);
    if (!dataset.close()) throw_output_error(target, 0);
}

void write_faults(hid_t file, const CameraCalibration& camera, const fs::path& target) {
    const hdf5::Quiet quiet;
    const hsize_t shape[] = {hsize_t(camera.height), hsize_t(camera.width)};
    hdf5::Handle dataset = hdf5::create_dataset(file, "faults", H5T_NATIVE_UINT8, shape, target);
    if (H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, camera.faults.data()) < 0)
        throw_output_error(target, 0);
    write_unit(dataset, "0 good, 1 hot, 2 dead, 3 noisy", target);
    if (!dataset.close()) throw_output_error(target, 0);
}

void write_maps(AtomicFile& to, const CameraCalibration& camera) {
    hdf5::Handle file = hdf5::create_file(to);
    const fs::path& target = to.target();
    write_map(file, "offset", camera.offset_adu.value, "ADU", camera, target);
    write_map(file, "offset_error", camera.offset_adu.error, "ADU", camera, target);
    write_map(file, "readvar", camera.readvar_adu2.value, "ADU^2", camera, target);
    write_map(file, "readvar_error", camera.readvar_adu2.error, "ADU^2", camera, target);
    write_map(file, "gain", camera.gain_e_per_adu.value, "e-/ADU", camera, target);
    write_map(file, "gain_error", camera.gain_e_per_adu.error, "e-/ADU", camera, target);
    write_map(file, "gain_chi2", camera.chi2, "1", camera, target);
    write_faults(file, camera, target);
    if (!file.close()) throw_output_error(target, 0);
}

std::string toml_text(const CameraCalibration& camera, double pixel_size_nm, const fs::path& maps) {
    std::ostringstream name;
    name << toml::value<std::string>(maps.filename().string());
    std::string text = "# Written by glint calibrate camera.\n";
    text +=
        camera.em_gain > 1 ? fmt::format("kind = \"emccd\"\nem_gain = {:#}\n", camera.em_gain) : "kind = \"scmos\"\n";
    if (pixel_size_nm > 0) text += fmt::format("pixel_size = \"{}nm\"\n", pixel_size_nm);
    text += fmt::format("maps = {}  # offset, readvar (ADU^2) and, where measured, gain\n", name.str());
    if (camera.gain_e_per_adu.value.empty() && camera.sensor_gain > 0)
        text += fmt::format("gain = {:#}  # e-/ADU, as it was given\n", camera.sensor_gain);
    if (camera.sensor_gain <= 0) text += "# gain = 0.5  # e-/ADU: not measured, for want of light\n";
    return text;
}

}  // namespace

fs::path maps_of_camera(const fs::path& toml) {
    return fs::path(toml).replace_filename(toml.stem().string() + "_maps.hdf5");
}

void write_camera(const fs::path& path, const CameraCalibration& camera, double pixel_size_nm, IfExists if_exists) {
    const fs::path maps = maps_of_camera(path);
    repair_pair(without_link(path), without_link(maps));
    AtomicFile description(path, if_exists), described(maps, if_exists);
    write_maps(described, camera);
    description.write(toml_text(camera, pixel_size_nm, maps));
    commit_together(description, described);
}

}  // namespace glint
